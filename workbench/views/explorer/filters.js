// What is shown of an answer: the filters of captions and grades at the side.

import { h, MARK_NAMES, shape } from "./parts.js";

/** @import { FilterValues, Mark } from "./types.d.ts" */
/** @import { View } from "./explorer.js" */

export class Filters {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    const { levels, marks, grades } = view.config;
    const ranged = (/** @type {string} */ name, /** @type {number} */ value, /** @type {string} */ testid) =>
      h("input", {
        type: "range",
        min: 0,
        max: 1,
        step: 0.01,
        value,
        "aria-label": name,
        "data-testid": testid,
        oninput: () => this.onRange(testid),
      });
    const check = (/** @type {string} */ name, /** @type {string} */ value, /** @type {string} */ kind) =>
      h(
        "label",
        { class: "wbx-check" },
        h("input", {
          type: "checkbox",
          value,
          "data-kind": kind,
          "data-testid": `${kind}-${value}`,
          onchange: () => view.exchange.ask(),
        }),
        name,
      );
    const graded = (/** @type {Mark} */ mark) => {
      const made = check(MARK_NAMES[mark], mark, "mark");
      made.insertBefore(shape(mark), made.lastChild);
      made.title = marks[mark];
      return made;
    };
    this.low = ranged("least descriptiveness", 0, "low");
    this.high = ranged("greatest descriptiveness", 1, "high");
    this.range = h("output", {}, "0.00 to 1.00");
    this.text = h("input", {
      type: "text",
      "data-testid": "filter-text",
      dir: "auto",
      autocomplete: "off",
      oninput: () => view.exchange.askLater(),
    });
    this.box = h(
      "details",
      { class: "wbx-filters", "data-testid": "filters" },
      h("summary", {}, "Filters"),
      h(
        "div",
        { class: "wbx-panel-body" },
        h("label", { class: "wbx-field" }, h("span", {}, "Caption contains"), this.text),
        h(
          "div",
          { class: "wbx-field", role: "group", "aria-label": "Descriptiveness of the caption" },
          h("span", {}, "Descriptiveness ", this.range),
          h("span", { class: "wbx-ranges" }, this.low, this.high),
        ),
        levels.length
          ? h(
              "fieldset",
              {},
              h("legend", {}, "Level"),
              levels.map(level => check(String(level), String(level), "level")),
            )
          : null,
        h("fieldset", {}, h("legend", {}, `Grade (${grades})`), /** @type {Mark[]} */ (Object.keys(marks)).map(graded)),
        h(
          "button",
          {
            type: "button",
            "data-testid": "clear",
            onclick: () => {
              this.set();
              view.exchange.askLater();
            },
          },
          "Clear filters",
        ),
      ),
    );
  }

  /** @param {string} kind */
  boxes(kind) {
    return [...this.box.querySelectorAll("input")].filter(box => box.dataset.kind === kind);
  }

  values() {
    const ticked = (/** @type {string} */ kind) =>
      this.boxes(kind)
        .filter(box => box.checked)
        .map(box => box.value);
    return {
      text: this.text.value.trim(),
      levels: ticked("level").map(Number),
      low: Number(this.low.value),
      high: Number(this.high.value),
      marks: ticked("mark"),
    };
  }

  /**
   * Without values nothing is filtered.
   * @param {Partial<FilterValues>} values
   */
  set({ text = "", levels = [], low = 0, high = 1, marks = [] } = {}) {
    Object.assign(this.text, { value: text });
    [this.low.value, this.high.value] = [String(low), String(high)];
    this.boxes("level").forEach(box => {
      box.checked = levels.includes(Number(box.value));
    });
    this.boxes("mark").forEach(box => {
      box.checked = marks.includes(box.value);
    });
    this.tell();
  }

  /** @param {string} moved */
  onRange(moved) {
    const [low, high] = [Number(this.low.value), Number(this.high.value)];
    if (low > high) (moved === "low" ? this.high : this.low).value = String(moved === "low" ? low : high);
    this.tell();
    this.view.exchange.askLater();
  }

  tell() {
    this.range.textContent = `${Number(this.low.value).toFixed(2)} to ${Number(this.high.value).toFixed(2)}`;
  }
}
