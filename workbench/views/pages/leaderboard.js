// The tables of the leaderboard: sorted by a column, searched by words, seeds opened, and chosen runs shown together.
// Every string of a run reaches the page as text, never as markup.
const compare = (a, b) => (a === "") - (b === "") || (isNaN(a) || isNaN(b) ? a.localeCompare(b, "en", { numeric: true }) : a - b);
const cell = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES = ["", "7 4", "2 3"];
const boards = [];

const make = (tag, values = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), values);
  made.append(...children);
  return made;
};

/** One table with what is shown of its chosen runs. */
class Board {
  constructor(table, box, data) {
    Object.assign(this, { table, box, runs: data.runs, pairs: data.pairs, body: table.tBodies[0], families: [], words: [] });
    for (const row of this.body.rows) {
      if (row.className === "member") this.families.at(-1).members.push(row);
      else this.families.push({ lead: row, members: [], open: false });
    }
    this.families.forEach((family) => this.prepare(family));
    [...table.tHead.rows[0].cells].forEach((head, column, heads) => head.replaceChildren(make("button", { type: "button", onclick: () => this.sort(heads, column) }, head.textContent)));
    this.draw();
  }

  get lines() { return this.families.flatMap(({ lead, members }) => (members.length ? members : [lead])); }

  prepare(family) {
    const { lead, members } = family, place = lead.cells[1];
    if (members.length) {
      const arm = place.querySelector("small") ?? "";
      if (arm) arm.remove();
      const button = make("button", { type: "button", onclick: () => { family.open = !family.open; this.draw(); } }, place.textContent);
      family.button = button;
      place.replaceChildren(this.tick(members, place.textContent), " ", button, arm);
    }
    for (const row of members.length ? members : [lead]) row.cells[1].prepend(this.tick([row], this.name(row)), " ");
  }

  name(row) { return this.runs[row.cells[1].dataset.run].name; }

  tick(rows, name) {
    const box = make("input", { type: "checkbox", ariaLabel: `choose ${name}` });
    box.onchange = () => {
      rows.forEach((row) => { row.classList.toggle("chosen", box.checked); row.querySelector("input").checked = box.checked; });
      this.show();
    };
    return box;
  }

  sort(heads, column) {
    const falls = heads[column].getAttribute("aria-sort") !== "descending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", falls ? "descending" : "ascending");
    const known = this.families.filter(({ lead }) => cell(lead, column) !== "");
    known.sort((a, b) => (falls ? -1 : 1) * compare(cell(a.lead, column), cell(b.lead, column)));
    this.body.prepend(...known.flatMap(({ lead, members }) => [lead, ...members])); // what has no value stays below
  }

  fits(row) { return this.words.every((word) => row.textContent.toLowerCase().includes(word)); }

  draw() {
    for (const { lead, members, open, button } of this.families) {
      members.forEach((row) => { row.hidden = !open || !this.fits(row); });
      lead.hidden = !(members.length ? members : [lead]).some((row) => this.fits(row));
      button?.setAttribute("aria-expanded", String(open));
    }
  }

  show() {
    const rows = this.lines.filter((row) => row.classList.contains("chosen"));
    const numbers = rows.map((row) => Number(row.cells[1].dataset.run)), [said, told] = this.box.children;
    this.box.hidden = !rows.length;
    said.textContent = rows.length ? `${rows.length} chosen` : "";
    const command = `workbench explore ${rows.map((row) => this.name(row)).join(" ")}`;
    told.replaceChildren(make("p", {}, "Ask them the same question: ", make("code", {}, command)), ...this.paired(numbers), ...this.curves(numbers));
  }

  /** The paired difference of two runs, the one that stands first in the table as it opens taken away. */
  paired(numbers) {
    if (numbers.length !== 2) return [];
    const [one, other] = numbers.toSorted((a, b) => a - b), names = [one, other].map((number) => this.runs[number].name), found = this.pairs[`${one} ${other}`];
    if (!found) return [make("p", {}, "Their difference, query by query: ", make("code", {}, `workbench diff ${names.join(" ")}`))];
    const line = (texts) => make("tr", {}, ...texts.map((text) => make("td", {}, text)));
    const heads = ["number", "difference", "in", "verdict"].map((text) => make("th", { scope: "col" }, text));
    return [make("table", {}, make("caption", {}, `${names[1]} minus ${names[0]}, by query`), make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...found.map(line)))];
  }

  /** Curves of training over one another; a choice says which number. */
  curves(numbers) {
    const names = [...new Set(numbers.flatMap((number) => Object.keys(this.runs[number].curves)))], svg = this.box.lastElementChild;
    svg.toggleAttribute("hidden", !names.length);
    if (!names.length) return [make("p", {}, "These runs keep no curves.")];
    this.curve = names.includes(this.curve) ? this.curve : names.find((name) => name.startsWith("val/rsum")) ?? names[0];
    const choice = make("select", { onchange: () => { this.curve = choice.value; this.plot(svg, numbers); } }, ...names.map((name) => make("option", { selected: name === this.curve }, name)));
    const key = numbers.map((number, i) => {
      const sample = make("i");
      sample.style.borderTopColor = COLOURS[i % COLOURS.length];
      sample.style.borderTopStyle = ["solid", "dashed", "dotted"][Math.floor(i / COLOURS.length) % 3];
      return make("li", {}, sample, this.runs[number].about);
    });
    this.plot(svg, numbers);
    return [make("label", {}, "Curve of ", choice), make("ul", {}, ...key)];
  }

  plot(svg, numbers) {
    const lines = numbers.map((number) => this.runs[number].curves[this.curve] ?? []), points = lines.flat();
    const ends = [0, 1].map((axis) => [Math.min(...points.map((one) => one[axis])), Math.max(...points.map((one) => one[axis]))]);
    const at = (value, axis, from, to) => from + ((value - ends[axis][0]) / (ends[axis][1] - ends[axis][0] || 1)) * (to - from);
    const place = ([x, y]) => `${at(x, 0, 70, 630).toFixed(1)},${at(y, 1, 205, 12).toFixed(1)}`;
    const draw = (tag, values, text = "") => {
      const made = document.createElementNS(svg.namespaceURI, tag);
      Object.entries(values).forEach(([name, value]) => made.setAttribute(name, value));
      made.textContent = text;
      return made;
    };
    const words = (x, y, anchor, text) => draw("text", { x, y, "text-anchor": anchor }, String(text));
    svg.replaceChildren(
      draw("path", { d: "M70 12V205H630", fill: "none", stroke: "currentColor", "stroke-opacity": 0.6 }),
      words(64, 209, "end", ends[1][0]), words(64, 18, "end", ends[1][1]), words(70, 224, "middle", ends[0][0]), words(630, 224, "end", ends[0][1]), words(350, 236, "middle", `epoch; ${this.curve}`),
      ...lines.map((line, i) => draw("polyline", { points: line.map(place).join(" "), fill: "none", stroke: COLOURS[i % COLOURS.length], "stroke-width": 2, "stroke-dasharray": DASHES[Math.floor(i / COLOURS.length) % 3] })),
    );
  }
}

for (const table of document.querySelectorAll(".wide table")) {
  const box = table.closest(".wide").nextElementSibling;
  boards.push(new Board(table, box, JSON.parse(box.nextElementSibling.textContent)));
}
const asked = document.querySelector("input[type=search]"), said = asked.closest("p").querySelector("[role=status]");
asked.closest("p").hidden = false;
asked.addEventListener("input", () => {
  const words = asked.value.toLowerCase().split(/\s+/).filter(Boolean), lines = boards.flatMap((board) => board.lines);
  boards.forEach((board) => { board.words = words; board.draw(); });
  const found = boards.flatMap((board) => board.lines.filter((row) => board.fits(row)));
  said.textContent = words.length ? `${found.length} of ${lines.length} runs` : "";
});
