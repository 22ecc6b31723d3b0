// The static page of the explorer: everything that it shows lies in the page already.
// Every string of the data reaches the page as text (textContent or a text node), never as markup.

import { better, captionOf, correct, elements, h, MARK_NAMES, number, PANELS, SHAPES, words } from "./parts.js";
import { selectionIn } from "./query_table.js";
import { StaticQueries } from "./static_queries.js";

/** @import { Answer, Child, Item, Mark } from "./types.d.ts" */

export class StaticPage {
  /** @param {HTMLElement} root */
  constructor(root) {
    const data = JSON.parse(root.querySelector(".wbt-data")?.textContent ?? "{}");
    /** @type {Record<Mark, string>} */
    this.marks = data.marks;
    /** @type {Answer[]} */
    this.answers = data.answers;
    /** @type {Map<string, string>} */
    this.thumbnails = new Map(Object.entries(data.thumbnails));
    /** @type {Map<string, Item>} */
    this.pins = new Map();
    this.at = 0;
    this.view = elements(root, ".wbt-view")[0];
    this.view.querySelectorAll("img").forEach(image => {
      if (image.dataset.key) this.thumbnails.set(image.dataset.key, image.src);
    });
    const options = this.answers.map((answer, i) =>
      h("option", { value: i, dir: "auto" }, `${i + 1}. ${answer.query.label}`),
    );
    const choose = () => this.show(Number(this.choice.value));
    this.choice = h("select", { "data-testid": "static-question", onchange: choose }, options);
    this.back = h("button", { type: "button", onclick: () => this.show(this.at - 1) }, "‹ previous");
    const next = () => this.show(this.at + 1);
    this.next = h("button", { type: "button", "data-testid": "static-next", onclick: next }, "next ›");
    this.status = h("p", { role: "status", "data-testid": "static-status" });
    this.body = h("div");
    const question = h("label", {}, h("span", {}, "Question"), this.choice);
    this.queries = data.queries.t2i || data.queries.i2t ? new StaticQueries(this, data.queries) : null;
    const bar = h("div", { class: "wbt-bar" }, question, this.back, this.next);
    this.view.replaceChildren(bar, this.status, this.body, this.queries?.frame ?? "");
    const kept = this.alone ? new URLSearchParams(location.hash.slice(1)) : new URLSearchParams();
    const wanted = (kept.get("pins") ?? "").split(",");
    for (const answer of this.answers) {
      /** @type {(item: Item) => string} */
      const key = item => `${answer.query.seeks} ${item.row}`;
      answer.items
        .filter(item => answer.pins.includes(item.row) || wanted.includes(key(item)))
        .forEach(item => this.pins.set(key(item), item));
    }
    this.view.addEventListener("keydown", event => this.onKey(event));
    const selected = location.hash;
    this.show(Number(kept.get("question") ?? 1) - 1 || 0);
    if (selectionIn(selected)) this.queries?.open(selectionIn(selected));
  }

  /** A page of its own keeps question and pins in its address, so that a link shows what was looked at. */
  get alone() {
    return document.documentElement.classList.contains("wbt-page");
  }

  remember() {
    if (!this.alone) return;
    const selected = this.queries?.text ?? "";
    const kept = { question: String(this.at + 1), pins: [...this.pins.keys()].join(","), select: selected };
    const known = Object.entries(kept).filter(([name, value]) => value || name !== "select");
    location.replace(`#${new URLSearchParams(known).toString().replaceAll("+", "%20")}`);
  }

  get answer() {
    return this.answers[this.at];
  }

  /**
   * @param {string} key
   * @param {string} alt
   */
  thumbnail(key, alt) {
    return key && this.thumbnails.has(key) ? h("img", { src: this.thumbnails.get(key), alt, decoding: "async" }) : null;
  }

  /** @param {number} at */
  show(at) {
    this.at = Math.min(Math.max(at, 0), this.answers.length - 1);
    this.choice.value = String(this.at);
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === this.answers.length - 1;
    const { query, gallery, passed, runs, grades } = this.answer;
    const filtered = passed === gallery ? "" : `, of which ${passed.toLocaleString("en")} pass the filters`;
    this.status.textContent =
      `Question ${this.at + 1} of ${this.answers.length}: ${runs.length} run${runs.length > 1 ? "s" : ""}, ` +
      `${gallery.toLocaleString("en")} ${query.seeks}${filtered}, by ${query.measure}, graded by ${grades}.`;
    this.draw();
  }

  draw() {
    const { query, note, truth } = this.answer;
    this.remember();
    this.body.replaceChildren(
      h(
        "div",
        { class: "wbt-asked" },
        this.thumbnail(query.image, "the image that was asked"),
        words(query.label, "h3"),
      ),
      truth ? words(truth, "p", { "data-testid": "static-truth" }) : "",
      note ? words(note, "p") : "",
      this.pinned(),
      this.columns(),
      this.legend(),
      ...Object.keys(this.answer.panels).map(name => this.panel(name)),
    );
  }

  /**
   * What a panel shows below the answers.
   * @param {string} name
   */
  panel(name) {
    try {
      return PANELS[name]?.page?.(this.answer.panels[name], this) || "";
    } catch (error) {
      return h("p", {}, `The panel ${name} does not work: ${error}`);
    }
  }

  /**
   * A part of the page with a heading.
   * @param {string} label
   * @param {string} title
   * @param {Child[]} children
   */
  part(label, title, ...children) {
    return h("section", { class: "wbt-part", "aria-label": label }, words(title, "h3"), ...children);
  }

  /**
   * A table that scrolls by itself, with its caption.
   * @param {string} caption
   * @param {string[]} heads
   * @param {Child[]} lines
   * @param {string} testid
   */
  sheet(caption, heads, lines, testid) {
    const head = heads.map(name => words(name, "th", { scope: "col" }));
    return h(
      "div",
      { class: "wbt-scroll", tabindex: "0", role: "region", "aria-label": caption, "data-testid": testid },
      h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines)),
    );
  }

  // Columns: one a run; an item is pinned in all of them

  columns() {
    /** @type {Map<number, Item>} */
    const items = new Map(this.answer.items.map(item => [item.row, item]));
    return h(
      "div",
      { class: "wbt-columns", "data-testid": "static-columns" },
      this.answer.columns.map((rows, run) =>
        h(
          "div",
          { class: "wbt-column", role: "group", "aria-label": this.answer.runs[run] },
          words(this.answer.runs[run], "h4"),
          h("p", { "data-testid": "static-right" }, correct(rows.flatMap(row => items.get(row)?.mark ?? []))),
          this.own(run),
          h(
            "ol",
            {},
            rows.flatMap(row => items.get(row) ?? []).map(item => h("li", {}, this.card(item, run))),
          ),
        ),
      ),
    );
  }

  /**
   * Where what is paired with the question stands in a run, also beyond what is shown.
   * @param {number} run
   */
  own(run) {
    const ranks = this.answer.partners.map(item => `#${item.ranks[run] ?? "–"}`).join(" ");
    return ranks
      ? h(
          "p",
          { class: "wbt-own-rank", "data-testid": "static-own" },
          h("span", { class: "wbt-shape wbt-own", "aria-hidden": "true" }, SHAPES.own),
          ` own ${ranks}`,
        )
      : null;
  }

  /**
   * @param {Item} item
   * @param {number} run
   */
  card(item, run) {
    const caption = captionOf(item);
    return h(
      "button",
      {
        type: "button",
        class: `wbt-card wbt-${item.mark}`,
        "data-row": item.row,
        "aria-pressed": String(this.pins.has(this.pinKey(item))),
        title: "pin: show its rank and score in every run",
        onclick: () => this.pin(item),
      },
      this.thumbnail(item.thumbnail, this.answer.query.seeks === "images" ? caption : ""),
      h(
        "span",
        { class: "wbt-about" },
        h(
          "span",
          { class: "wbt-top" },
          h("strong", {}, `#${item.ranks[run] ?? "–"}`),
          item.count > 1 ? h("span", { title: `${item.count} captions read so` }, `×${item.count}`) : null,
          h("span", {}, number(item.scores[run])),
          this.mark(item),
          run ? this.arrow(item, run) : null,
        ),
        words(caption, "span", { class: "wbt-caption" }),
      ),
    );
  }

  /** @param {Item} item */
  mark(item) {
    const grade = item.grade === null ? "" : ` ${number(item.grade, 2)}`;
    return h(
      "span",
      { title: this.marks[item.mark] },
      h("span", { class: `wbt-shape wbt-${item.mark}`, "aria-hidden": "true" }, SHAPES[item.mark]),
      ` ${MARK_NAMES[item.mark]}${grade}`,
    );
  }

  /**
   * @param {Item} item
   * @param {number} run
   */
  arrow(item, run) {
    if (item.ranks[0] === null || item.ranks[run] === null) return null;
    const rise = item.ranks[0] - item.ranks[run];
    if (!rise) return h("span", {}, "= same rank");
    const told = `${Math.abs(rise)} ${rise > 0 ? "higher" : "lower"} than in ${this.answer.runs[0]}`;
    return h(
      "span",
      { class: `wbt-${better(item.mark, rise)}`, title: told, role: "img", "aria-label": told },
      `${rise > 0 ? "▲" : "▼"}${Math.abs(rise)}`,
    );
  }

  /** @param {Item} item */
  pinKey(item) {
    return `${this.answer.query.seeks} ${item.row}`;
  }

  /** @param {Item} item */
  pin(item) {
    const key = this.pinKey(item),
      run = this.columnInFocus();
    if (!this.pins.delete(key)) this.pins.set(key, item);
    this.draw();
    this.focus(item.row, run);
  }

  columnInFocus() {
    const columns = elements(this.body, ".wbt-column");
    return Math.max(
      0,
      columns.findIndex(column => column.contains(document.activeElement)),
    );
  }

  /**
   * @param {number} row
   * @param {number} run
   */
  focus(row, run) {
    const column = elements(this.body, ".wbt-column").at(run);
    const card = column && elements(column, `[data-row="${row}"]`).at(0);
    (card ?? elements(this.body, `[data-row="${row}"]`).at(0))?.focus({ preventScroll: true });
  }

  pinned() {
    if (!this.pins.size)
      return h(
        "p",
        {},
        "Choose an item to pin it. Its rank and score in every run are then shown here, for this question " +
          "and the next.",
      );
    const now = new Map(this.answer.items.map(item => [this.pinKey(item), item]));
    const lines = [...this.pins].map(([key, item]) => {
      const here = now.get(key);
      const ranks = this.answer.runs.map((_, run) =>
        h("td", {}, here ? `#${here.ranks[run] ?? "–"} (${number(here.scores[run])})` : "not among those shown"),
      );
      const off = h(
        "button",
        {
          type: "button",
          onclick: () => {
            this.pins.delete(key);
            this.draw();
          },
        },
        "unpin",
      );
      return h(
        "tr",
        {},
        h("td", {}, this.thumbnail(item.thumbnail, "")),
        words(captionOf(item), "th", { scope: "row" }),
        ranks,
        h("td", {}, off),
      );
    });
    return this.sheet(
      "Pinned: rank and score in every run",
      ["image", "item", ...this.answer.runs, "remove"],
      lines,
      "static-pins",
    );
  }

  legend() {
    return h(
      "ul",
      { class: "wbt-legend", "aria-label": "Marks" },
      /** @type {[Mark, string][]} */ (Object.entries(this.marks)).map(([mark, told]) =>
        h(
          "li",
          {},
          h("span", { class: `wbt-shape wbt-${mark}`, "aria-hidden": "true" }, SHAPES[mark]),
          ` ${MARK_NAMES[mark]}: ${told}`,
        ),
      ),
    );
  }

  // Arrow keys go from card to card: up and down in a column, left and right between columns

  /** @param {KeyboardEvent} event */
  onKey(event) {
    /** @type {Record<string, [number, number]>} */
    const ways = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const way = ways[event.key];
    const columns = elements(this.body, "[data-testid='static-columns'] .wbt-column");
    const cards = columns.map(column => elements(column, "button.wbt-card"));
    const column = cards.findIndex(own => own.some(card => card === event.target));
    if (!way || column < 0) return;
    const line = cards[column].indexOf(/** @type {HTMLElement} */ (event.target)) + way[1];
    const there = cards[column + way[0]] ?? [];
    event.preventDefault();
    there[Math.min(line, there.length - 1)]?.focus();
  }
}

for (const root of elements(document, ".wbt:not([data-ready])")) {
  root.dataset.ready = "true";
  new StaticPage(root);
}
