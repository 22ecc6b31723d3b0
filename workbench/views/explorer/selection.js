// The side bar's filters by fields: bars of counts that are clicked, and the numbers of what is selected. A selection
// is the same whether it comes from bars, a link, Python or a map.

import { counted, h, words } from "./parts.js";
import { Chosen, parts, QueryTable } from "./query_table.js";

/** @import { Field } from "./query_table.js" */
/** @import { QueryHost, QueryRecord } from "./types.d.ts" */

const OPEN = 4; // fields whose bars are shown from the beginning
const ROWS = 10; // values of a field that are listed before somebody asks for all
const PERCENT = 100;

/** @type {(value: number | null) => string} */
const percent = value => (value === null ? "–" : (PERCENT * value).toFixed(1));

export class Selection {
  /** @param {QueryHost} host */
  constructor(host) {
    this.host = host;
    /** @type {QueryTable | null} */
    this.table = null;
    this.chosen = new Chosen();
    this.mask = new Uint8Array();
    /** @type {number[]} */
    this.rows = [];
    /** @type {Set<string>} */
    this.added = new Set();
    /** What is to be selected once the table is there. */
    this.waiting = "";
    this.loading = "";
    /** @type {Map<string, boolean>} */
    this.unfolded = new Map();
    /** @type {() => void} */
    this.drawList = () => {};
    const choose = () => this.load(this.direction.value);
    this.direction = h("select", { "data-testid": "queries-direction", onchange: choose }, [
      h("option", { value: "t2i" }, "captions"),
      h("option", { value: "i2t" }, "images"),
    ]);
    const summary = { class: "wbq-count", "data-testid": "queries-count", role: "status" };
    this.count = h("p", summary);
    this.problem = h("p", { class: "wbq-problem", role: "alert", "data-testid": "queries-problem", hidden: true });
    /** A step to the next query, and the list of all. */
    this.steps = h("div", {});
    this.numbers = h("div", { class: "wbq-numbers", "data-testid": "queries-numbers" });
    this.outcomes = h("div", { class: "wbq-outcomes" });
    this.chips = h("div", { class: "wbq-chips", "data-testid": "queries-chips" });
    this.fields = h("div", { "data-testid": "queries-fields" });
    this.text = h("input", {
      type: "text",
      readonly: true,
      "data-testid": "queries-text",
      "aria-label": "The selection as a text",
      title: "the selection as a text, for --select and explore(select=...)",
    });
    this.clearButton = h(
      "button",
      { type: "button", "data-testid": "queries-clear", onclick: () => this.choose(new Chosen()) },
      "Clear",
    );
    this.box = h(
      "div",
      { class: "wbq" },
      h("label", { class: "wbq-line" }, h("span", {}, "Queries"), this.direction, this.clearButton),
      this.count,
      this.problem,
      this.steps,
      this.numbers,
      this.outcomes,
      this.chips,
      this.fields,
      h("label", { class: "wbq-line" }, h("span", {}, "As text"), this.text),
    );
  }

  // What is known

  /** Get the table of a direction, unless it is there. */
  load(direction = this.direction.value) {
    this.direction.value = direction;
    this.loading = direction;
    this.count.textContent = "Reading the fields and ranks of the queries …";
    this.host.load(direction, [...this.added]);
  }

  /** Get the table once somebody looks. */
  open() {
    if (!this.table && !this.loading) this.load();
  }

  /**
   * @param {QueryRecord} record
   * @param {(DataView | ArrayBuffer)[]} blobs
   */
  take(record, blobs) {
    const before = this.table;
    this.table = new QueryTable(record, blobs);
    this.loading = "";
    this.direction.value = record.direction;
    const { images } = this.chosen;
    const again = this.waiting || (before?.record.direction === record.direction ? before.text(this.chosen) : "");
    this.waiting = "";
    this.chosen = new Chosen();
    this.chosen.images = images;
    if (again) this.apply(again);
    else this.choose(this.chosen);
  }

  /** @param {string} text what went wrong */
  fail(text) {
    this.loading = this.waiting = "";
    this.count.textContent = "";
    this.warn(text);
  }

  /** @param {string} text */
  warn(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
  }

  /**
   * Select what a text says.
   * @param {string} text
   */
  apply(text) {
    const { direction } = parts(text);
    if (this.loading || !this.table || this.table.record.direction !== direction) {
      this.waiting = text;
      if (this.loading !== direction) this.load(direction);
      return;
    }
    const { chosen, unknown, problem } = this.table.read(text);
    if (unknown.length && this.host.learn(direction, unknown[0])) {
      this.waiting = text;
      return;
    }
    const lacking = unknown.map(label => `this page does not know where “${label}” holds`);
    chosen.images = null;
    this.choose(chosen);
    this.warn([problem, ...lacking].filter(Boolean).join("; "));
  }

  /**
   * Where a condition holds that was asked for.
   * @param {string} label
   * @param {ArrayLike<number>} holds
   */
  learnt(label, holds) {
    const { table, waiting } = this;
    if (!table) return;
    table.conditions.push({ label, holds });
    this.waiting = "";
    if (waiting) this.apply(waiting);
  }

  // What is selected

  /** @param {Chosen} chosen */
  choose(chosen) {
    const { table } = this;
    if (!table) return;
    this.chosen = chosen;
    this.warn("");
    this.mask = table.mask(chosen);
    this.rows = table.rows(this.mask);
    this.draw();
    this.drawList();
    this.host.changed();
  }

  /** The rows of the images of the selected queries, each once. */
  images() {
    return [...new Set(this.rows.map(row => this.table?.images[row] ?? 0))];
  }

  /**
   * Images that were chosen elsewhere, on a map or among the answers, are the selection.
   * @param {number[]} images
   */
  takeImages(images) {
    const chosen = new Chosen();
    chosen.images = images.length ? new Set(images) : null;
    if (this.table) this.choose(chosen);
    else this.chosen = chosen;
  }

  /**
   * @param {Field} field
   * @param {number} bar
   * @param {boolean} through whether all bars up to it are meant, from the last one that was chosen
   */
  toggle(field, bar, through) {
    const bars = new Set(this.chosen.bars.get(field.name));
    const last = [...bars].at(-1);
    if (through && last !== undefined) {
      for (let at = Math.min(bar, last); at <= Math.max(bar, last); at += 1) bars.add(at);
    } else if (!bars.delete(bar)) bars.add(bar);
    this.chosen.bars.set(field.name, bars);
    this.choose(this.chosen);
  }

  /** @param {("" | "right" | "wrong")[]} outcomes */
  answered(outcomes) {
    this.chosen.outcomes = outcomes;
    this.choose(this.chosen);
  }

  // Drawing

  draw() {
    const { table, chosen } = this;
    if (!table) return;
    const kinds = table.record.direction === "t2i" ? "captions" : "images";
    const images = table.record.direction === "t2i" ? ` of ${counted(this.images().length)} images` : "";
    this.count.textContent = `${counted(this.rows.length)} of ${counted(table.size)} ${kinds}${images}`;
    this.clearButton.disabled = chosen.empty;
    this.text.value = table.text(chosen);
    this.drawNumbers(table);
    this.drawOutcomes(table);
    this.drawChips();
    this.fields.replaceChildren(...table.fields.map((field, i) => this.field(table, field, i)), this.more(table));
  }

  /** @param {QueryTable} table */
  drawNumbers(table) {
    const whole = table.means(new Uint8Array(table.size).fill(1));
    const part = table.means(this.mask);
    const cell = (/** @type {number | null} */ here, /** @type {number | null} */ all) =>
      h("td", {}, h("b", {}, percent(here)), h("small", {}, percent(all)));
    const lines = table.record.runs.map((run, i) =>
      h(
        "tr",
        {},
        words(run, "th", { scope: "row" }),
        part.map(({ means }, at) => cell(means[i], whole[at].means[i])),
      ),
    );
    const chance = h(
      "tr",
      { class: "wbq-chance" },
      h("th", { scope: "row" }, "chance"),
      part.map((number, at) => cell(number.chance, whole[at].chance)),
    );
    const head = h(
      "tr",
      {},
      h("td", {}),
      part.map(({ key, title }) => h("th", { scope: "col", title: key }, title)),
    );
    this.numbers.replaceChildren(
      h(
        "table",
        {},
        h("caption", {}, "Percent of the selection, with all queries below"),
        h("thead", {}, head),
        h("tbody", {}, lines, chance),
      ),
    );
  }

  /** @param {QueryTable} table */
  drawOutcomes(table) {
    const { runs } = table.record;
    const chooser = (/** @type {string} */ run, /** @type {number} */ i) => {
      /** @type {HTMLSelectElement} */
      const select = h(
        "select",
        {
          "data-testid": `outcome-${i}`,
          onchange: () => {
            const outcomes = [...this.chosen.outcomes];
            outcomes[i] = /** @type {"" | "right" | "wrong"} */ (select.value);
            this.answered(outcomes);
          },
        },
        [
          h("option", { value: "" }, "either"),
          h("option", { value: "right" }, "right"),
          h("option", { value: "wrong" }, "wrong"),
        ],
      );
      select.value = this.chosen.outcomes[i] ?? "";
      return h("label", { class: "wbq-line" }, words(run), select);
    };
    const swap = (/** @type {number} */ right, /** @type {number} */ wrong) => {
      /** @type {("" | "right" | "wrong")[]} */
      const outcomes = [];
      [outcomes[right], outcomes[wrong]] = ["right", "wrong"];
      const onclick = () => this.answered(outcomes);
      const testid = `right-${right}-wrong-${wrong}`;
      return h(
        "button",
        { type: "button", "data-testid": testid, onclick },
        words(`${runs[right]} right, ${runs[wrong]} wrong`),
      );
    };
    this.outcomes.replaceChildren(
      h("span", { class: "wbq-head" }, "First answer"),
      ...runs.map(chooser),
      runs.length > 1 ? swap(0, 1) : "",
      runs.length > 1 ? swap(1, 0) : "",
    );
  }

  drawChips() {
    const { chosen } = this;
    const chip = (/** @type {string} */ label, /** @type {() => void} */ drop) =>
      h(
        "span",
        { class: "wbq-chip" },
        words(label),
        h(
          "button",
          {
            type: "button",
            "aria-label": `drop ${label}`,
            onclick: () => {
              drop();
              this.choose(chosen);
            },
          },
          "✕",
        ),
      );
    const chips = chosen.conditions.map(condition =>
      chip(condition.label, () => {
        chosen.conditions = chosen.conditions.filter(other => other !== condition);
      }),
    );
    const dropImages = () => {
      chosen.images = null;
    };
    if (chosen.images) chips.push(chip(`${counted(chosen.images.size)} images chosen by hand`, dropImages));
    this.chips.replaceChildren(...chips);
  }

  /**
   * The bars of a field; those of other fields are what is counted.
   * @param {QueryTable} table
   * @param {Field} field
   * @param {number} place
   */
  field(table, field, place) {
    const bars = this.chosen.bars.get(field.name) ?? new Set();
    const all = field.counts(new Uint8Array(table.size).fill(1));
    const now = field.counts(table.mask(this.chosen, field.name));
    const shown = [...field.labels.keys()].filter(bar => all[bar] || bars.has(bar));
    const open = this.unfolded.get(field.name) ?? (place < OPEN || bars.size > 0);
    const count = bars.size ? h("span", { class: "wbq-on" }, ` ${bars.size} chosen`) : null;
    const drawn = field.values ? this.histogram(field, shown, all, now, bars) : this.list(field, shown, all, now, bars);
    /** @type {HTMLDetailsElement} */
    const box = h(
      "details",
      {
        open,
        "data-field": field.name,
        ontoggle: () => this.unfolded.set(field.name, box.open),
      },
      h("summary", { title: `${field.kind}, ${field.source || "of the data"}` }, words(field.name), count),
      drawn,
    );
    return box;
  }

  /**
   * @param {Field} field
   * @param {number[]} shown
   * @param {Uint32Array} all
   * @param {Uint32Array} now
   * @param {Set<number>} bars
   */
  list(field, shown, all, now, bars) {
    const most = Math.max(1, ...all);
    const every = this.unfolded.get(`${field.name} every`) || shown.length <= ROWS + 1;
    const line = (/** @type {number} */ bar) =>
      h(
        "button",
        {
          type: "button",
          class: "wbq-bar",
          "aria-pressed": String(bars.has(bar)),
          "data-bar": field.labels[bar],
          style: `--all: ${(100 * all[bar]) / most}%; --now: ${(100 * now[bar]) / most}%`,
          onclick: () => this.toggle(field, bar, false),
        },
        words(field.labels[bar].slice(field.name.length + 1)),
        h("span", { class: "wbq-number" }, counted(now[bar])),
      );
    const rest = h(
      "button",
      {
        type: "button",
        class: "wbq-rest",
        onclick: () => {
          this.unfolded.set(`${field.name} every`, true);
          this.draw();
        },
      },
      `all ${shown.length} values`,
    );
    const lines = every ? shown : shown.filter((bar, i) => i < ROWS || bars.has(bar));
    return h("div", { class: "wbq-bars" }, lines.map(line), every ? null : rest);
  }

  /**
   * @param {Field} field
   * @param {number[]} shown
   * @param {Uint32Array} all
   * @param {Uint32Array} now
   * @param {Set<number>} bars
   */
  histogram(field, shown, all, now, bars) {
    const most = Math.max(1, ...all);
    const told = (/** @type {number} */ bar) => `${field.labels[bar]}: ${counted(now[bar])} of ${counted(all[bar])}`;
    const column = (/** @type {number} */ bar) =>
      h("button", {
        type: "button",
        class: "wbq-column",
        "aria-pressed": String(bars.has(bar)),
        "aria-label": told(bar),
        title: `${told(bar)}; with Shift up to here`,
        "data-bar": field.labels[bar],
        style: `--all: ${(100 * all[bar]) / most}%; --now: ${(100 * now[bar]) / most}%`,
        onclick: (/** @type {MouseEvent} */ event) => this.toggle(field, bar, event.shiftKey),
      });
    const { edges } = field;
    return h(
      "div",
      {},
      h("div", { class: "wbq-histogram", role: "group", "aria-label": `Counts by ${field.name}` }, shown.map(column)),
      h("div", { class: "wbq-ends" }, h("span", {}, `≤ ${edges[0]}`), h("span", {}, `> ${edges[edges.length - 1]}`)),
    );
  }

  /** @param {QueryTable} table */
  more(table) {
    const { more } = table.record;
    if (!more.length) return "";
    /** @type {HTMLSelectElement} */
    const select = h(
      "select",
      {
        "data-testid": "queries-more",
        onchange: () => {
          this.added.add(select.value);
          this.unfolded.set(select.value, true);
          this.load();
        },
      },
      h("option", { value: "" }, "choose"),
      more.map(({ name, about }) => h("option", { value: name, title: about }, `${name}: ${about}`)),
    );
    return h("label", { class: "wbq-line" }, h("span", {}, "Another field"), select);
  }
}
