// Two filters over the tables of the claims page: by paper, and by verdict of either judge. A row says both
// by what its cells are sorted by.

const VERDICTS = ["replicated", "refuted", "equivalent", "undecided", "void"];
const WAITING = "not yet judged";

/** @type {HTMLTableRowElement[]} */
const rows = [...document.querySelectorAll("main tbody tr")].map(row => /** @type {HTMLTableRowElement} */ (row));
const told = rows.map(row => {
  const [name, ...others] = [...row.cells].map(cell => cell.dataset.order ?? "");
  const verdicts = others.filter(word => VERDICTS.includes(word));
  return { row, paper: name.split(" ")[0], verdicts: verdicts.length ? verdicts : [WAITING] };
});

/**
 * A list to choose from, with its label.
 * @param {string} name
 * @param {string[]} words
 */
function choice(name, words) {
  const label = document.createElement("label");
  const select = document.createElement("select");
  select.append(...["all", ...words].map(word => new Option(word)));
  select.addEventListener("change", show);
  label.append(`${name} `, select);
  bar.append(label);
  return select;
}

function show() {
  let kept = 0;
  for (const { row, paper: of, verdicts } of told) {
    row.hidden = ![of, "all"].includes(paper.value) || ![...verdicts, "all"].includes(verdict.value);
    kept += Number(!row.hidden);
  }
  count.textContent = `${kept} of ${told.length} rows`;
}

const bar = document.createElement("form");
bar.className = "choices";
bar.setAttribute("aria-label", "Filters");
const paper = choice("Paper", [...new Set(told.map(one => one.paper))]);
const verdict = choice(
  "Verdict of labels or truth",
  [...VERDICTS, WAITING].filter(word => told.some(one => one.verdicts.includes(word))),
);
const count = document.createElement("output");
bar.append(count);
document.querySelector("main h2")?.before(bar);
show();
