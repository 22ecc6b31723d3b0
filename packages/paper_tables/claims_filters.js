// Filters of the claims page: lists over what a row says of itself, words, and counts that set the lists.

const form = /** @type {HTMLFormElement} */ (document.querySelector("form.choices"));
const count = /** @type {HTMLOutputElement} */ (form.querySelector("output"));
const words = /** @type {HTMLInputElement} */ (form.querySelector("input"));
const lists = [...form.querySelectorAll("select")];
const rows = /** @type {HTMLTableRowElement[]} */ ([...document.querySelectorAll("table.claims tbody tr")]);
const parts = /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll(".tally button")]);
const marks = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".effects [data-paper]")]);
const paper = /** @type {HTMLSelectElement} */ (form.querySelector("select[name=paper]"));
const ids = new Set(rows.map(row => `${row.dataset.id}`.toLowerCase()));

/**
 * Whether a row has an id that is typed in full, or all words in its claim and arms.
 * @param {HTMLTableRowElement} row
 * @param {string} asked
 */
function named(row, asked) {
  const id = `${row.dataset.id}`.toLowerCase();
  if (ids.has(asked)) return id === asked;
  const texts = [...row.querySelectorAll(".says, .arms")].map(one => one.textContent);
  const told = `${id} ${texts.join(" ")}`.toLowerCase();
  return asked.split(/\s+/).every(word => told.includes(word));
}

/**
 * What the lists are set to for a part of the counts.
 * @param {HTMLButtonElement} part
 * @param {HTMLSelectElement} list
 */
function wanted({ dataset: { paper, kind, judge, is } }, { name }) {
  return (name === "paper" && paper) || (name === "kind" && kind) || (name === judge && is) || "all";
}

/** @param {HTMLButtonElement} part */
const chosen = part => lists.every(list => list.value === wanted(part, list));

function show() {
  const asked = words.value.trim().toLowerCase();
  for (const row of rows)
    row.hidden = !lists.every(list => ["all", row.dataset[list.name]].includes(list.value)) || !named(row, asked);
  for (const mark of marks) mark.hidden = !["all", mark.dataset.paper].includes(paper.value);
  const judged = rows.filter(row => row.dataset.data);
  const left = judged.filter(row => !row.hidden).length;
  count.textContent = `${left} of ${judged.length} rows${left ? "" : "; no row has all of this"}`;
  for (const part of parts) part.setAttribute("aria-pressed", `${chosen(part)}`);
  for (const table of document.querySelectorAll("table.claims")) {
    const empty = !table.querySelector("tbody tr:not([hidden])");
    for (const one of [table, table.previousElementSibling])
      if (one?.tagName !== "FORM") /** @type {HTMLElement} */ (one).hidden = empty;
  }
}

for (const part of parts)
  part.addEventListener("click", () => {
    const again = chosen(part);
    form.reset();
    if (!again) for (const list of lists) list.value = wanted(part, list);
    show();
    if (!again) document.querySelector("#rows")?.scrollIntoView();
  });
form.addEventListener("input", show);
form.addEventListener("submit", event => event.preventDefault());
form.querySelector("button")?.addEventListener("click", () => {
  form.reset();
  show();
});
show();
