// The page of a suite: tabs, sorted columns, what a number is, and any two models compared.

/**
 * @typedef {{ title: string, facts: Record<string, string>, commands: string[] }} Shown
 * @typedef {{ models: string[], benchmark: string, number: string, values: string[], difference: string,
 *   verdict: string, better: boolean, command: string, queries: string }} Row
 */

/** @type {{ cells: Record<string, Shown>, differences: Row[] }} */
const data = JSON.parse(`${document.getElementById("data")?.textContent}`);
const tabs = /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll("[role=tab]")]);
const panels = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[role=tabpanel]")]);
const dialog = /** @type {HTMLDialogElement} */ (document.querySelector("dialog"));
const choices = /** @type {HTMLSelectElement[]} */ ([...document.querySelectorAll("form.choices select")]);

/** @param {string} id */
function open(id) {
  for (const panel of panels) panel.hidden = panel.id !== id;
  for (const tab of tabs) {
    const chosen = tab.getAttribute("aria-controls") === id;
    tab.setAttribute("aria-selected", `${chosen}`);
    tab.tabIndex = chosen ? 0 : -1;
  }
}

/**
 * Add an element with a text.
 * @param {Element} parent
 * @param {string} name
 * @param {string} text
 */
function add(parent, name, text) {
  const child = document.createElement(name);
  child.textContent = text;
  parent.append(child);
  return child;
}

/** @param {HTMLAnchorElement} link */
function describe(link) {
  const shown = data.cells[`${link.dataset.cell}`];
  const [title, facts, commands, folder] = ["h2", "dl", "pre", "a"].map(name => dialog.querySelector(name));
  if (!title || !facts || !commands || !folder) return;
  title.textContent = shown.title;
  facts.replaceChildren();
  for (const [name, text] of Object.entries(shown.facts)) {
    add(facts, "dt", name);
    add(facts, "dd", text);
  }
  commands.textContent = shown.commands.join("\n");
  folder.setAttribute("href", `${link.getAttribute("href")}`);
  dialog.showModal();
}

/**
 * Sort the rows of a table by a column, the largest first, or the smallest where it was the largest.
 * @param {HTMLTableElement} table
 * @param {HTMLElement} head
 * @param {number} column
 */
function sort(table, head, column) {
  const up = head.getAttribute("aria-sort") === "descending";
  for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  /** @param {HTMLTableRowElement} row */
  const value = row => Number(row.cells[column].dataset.order);
  const rows = [...table.tBodies[0].rows].sort((a, b) => (up ? value(a) - value(b) : value(b) - value(a)));
  table.tBodies[0].append(...rows);
}

function compare() {
  const [model, against] = choices.map(list => list.value);
  const table = /** @type {HTMLTableElement} */ (document.getElementById("differences"));
  const rows = data.differences.filter(({ models }) => models[0] === model && models[1] === against);
  const heads = table.tHead?.rows[0].cells;
  if (!heads) return;
  heads[2].textContent = model;
  heads[3].textContent = against;
  table.tBodies[0].replaceChildren();
  for (const row of rows) {
    const line = add(table.tBodies[0], "tr", "");
    add(line, "th", row.benchmark).setAttribute("scope", "row");
    add(add(line, "td", row.number), "small", row.queries);
    for (const value of row.values) add(line, "td", value);
    add(line, "td", row.difference).className = row.better ? "best" : "";
    const verdict = add(line, "td", row.verdict);
    if (row.command) add(add(verdict, "small", ""), "code", row.command);
  }
  table.hidden = !rows.length;
  const empty = /** @type {HTMLElement} */ (document.querySelector(".empty"));
  empty.hidden = rows.length > 0;
}

document.documentElement.classList.add("js");
for (const [place, tab] of tabs.entries()) {
  tab.addEventListener("click", () => open(`${tab.getAttribute("aria-controls")}`));
  tab.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(place + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
}
for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-cell]")))
  link.addEventListener("click", event => {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    describe(link);
  });
for (const table of /** @type {NodeListOf<HTMLTableElement>} */ (document.querySelectorAll("table.suite"))) {
  const buttons = /** @type {HTMLButtonElement[]} */ ([...table.querySelectorAll("thead button")]);
  // the first column names the model
  for (const [place, button] of buttons.entries())
    button.addEventListener("click", () => sort(table, /** @type {HTMLElement} */ (button.parentElement), place + 1));
}
for (const list of choices) list.addEventListener("change", compare);
if (choices.length) compare();
open(`${tabs[0].getAttribute("aria-controls")}`);
