// The captions on which runs disagree.

import { counted, h, heading, number, place, table, words } from "./parts.js";

/** @import { Difference } from "./types.d.ts" */
/** @import { View } from "./explorer.js" */

/** The captions on which the runs disagree: a list, and a step from one to the next. */
export class Disagreements {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** @type {Difference[] | null} */
    this.found = null;
    this.at = -1;
    this.step = 0;
    this.box = h("div", { class: "wbx-differ", "data-testid": "disagreements" });
    this.told = h("span", { class: "wbx-num", "data-testid": "disagreement" });
    const ways = [
      ["rank", "rank of the own image"],
      ...(view.config.graded ? [["grade", "grade of the first image"]] : []),
    ];
    this.by = h(
      "select",
      { "data-testid": "differ-by", onchange: () => this.load(0) },
      ways.map(([value, told]) => h("option", { value }, told)),
    );
    this.list = h("div");
    this.box.append(
      h(
        "label",
        { class: "wbx-field wbx-inline" },
        h("span", {}, "Captions on which the runs differ most, by"),
        this.by,
      ),
      this.list,
    );
  }

  /**
   * Ask for the list; `step` is taken in it once it is there.
   * @param {number} step
   */
  load(step) {
    /** @type {Difference[] | null} */
    this.found = null;
    this.at = -1;
    this.step = step;
    this.list.replaceChildren(h("p", {}, "Ranking every caption in every run …"));
    this.view.exchange.send({ kind: "disagreements", by: this.by.value, page: this.view.thumbnails.page });
  }

  /** @param {Difference[]} found */
  take(found) {
    this.found = found;
    this.draw();
    if (this.step) this.go(this.step);
  }

  /** @param {number} step */
  go(step) {
    if (this.view.config.runs.length < 2) {
      this.view.say("A single run disagrees with nobody: open the explorer on two or more.");
      return;
    }
    if (!this.found) {
      this.load(step);
      return;
    }
    if (this.found.length)
      this.ask((Math.max(this.at, step < 0 ? 0 : -1) + step + this.found.length) % this.found.length);
  }

  /** @param {number} at */
  ask(at) {
    const found = /** @type {Difference[]} */ (this.found ?? []);
    const { row, text } = found[at];
    this.at = at;
    this.told.textContent = `${at + 1} of ${counted(found.length)}`;
    this.box.querySelectorAll("tbody tr").forEach((line, i) => line.toggleAttribute("aria-current", i === at));
    this.view.askCaption(text, row);
  }

  draw() {
    const { runs, marks } = this.view.config;
    const found = /** @type {Difference[]} */ (this.found ?? []);
    const graded = found.some(one => one.grades.length);
    if (!found.length) {
      this.list.replaceChildren(h("p", {}, "The runs agree on every caption."));
      return;
    }
    const told = (/** @type {Difference} */ one, /** @type {number} */ run) => [
      h("b", {}, place(one.ranks[run])),
      graded ? ` grade ${number(one.grades[run], 2)}` : null,
    ];
    const line = (/** @type {Difference} */ one, /** @type {number} */ i) =>
      h(
        "tr",
        {},
        h(
          "th",
          { scope: "row" },
          h(
            "button",
            {
              type: "button",
              class: "wbx-link",
              "data-testid": "differs",
              onclick: () => {
                this.ask(i);
                this.view.show("gallery");
              },
            },
            this.view.thumbnails.image(one.thumbnail, ""),
            words(one.text, "span", { class: "wbx-caption" }),
          ),
        ),
        runs.map((_, run) =>
          h("td", { class: one.ranks[run] === Math.min(...one.ranks) ? "wbx-best" : null }, told(one, run)),
        ),
      );
    this.list.replaceChildren(
      h(
        "p",
        { class: "wbx-dim" },
        `The number is the rank of the image that is ${marks.own}`,
        graded ? "; the grade is that of the image which the run puts first" : "",
        ". One caption an image.",
      ),
      table(
        "Disagreements",
        [heading("Caption"), ...runs.map(run => words(run, "th", { scope: "col" }))],
        found.map(line),
      ),
    );
  }
}
