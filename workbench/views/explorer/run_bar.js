// The runs of the explorer: which are shown, and with which one ranks are compared.

import { h, words } from "./parts.js";

/** @import { View } from "./explorer.js" */

/** Which runs are shown, and with which one ranks are compared. */
export class RunBar {
  /** @param {View} view */
  constructor(view) {
    const { runs, about } = view.config;
    this.view = view;
    this.boxes = runs.map((_, run) => {
      /** @type {HTMLInputElement} */
      const box = h("input", {
        type: "checkbox",
        checked: true,
        "data-testid": `run-${run}`,
        onchange: () => view.showRun(run, box.checked),
      });
      return box;
    });
    this.base = h(
      "select",
      {
        "data-testid": "base",
        onchange: () => {
          view.base = Number(this.base.value);
          view.draw();
        },
      },
      runs.map((run, i) => h("option", { value: i }, run)),
    );
    const shown = runs.flatMap((run, i) => [
      h("label", { class: "wbx-check" }, this.boxes[i], words(run)),
      ...this.told(about[i]),
    ]);
    const tags = [...new Set(about.flatMap(run => run.tags))];
    const only = tags.map(tag =>
      h("button", { type: "button", class: "wbx-tag", onclick: () => this.only(tag) }, `#${tag}`),
    );
    this.box = h(
      "details",
      { open: true, "data-testid": "runs" },
      h("summary", {}, "Runs"),
      h(
        "div",
        { class: "wbx-panel-body" },
        h("div", { class: "wbx-runs", role: "group", "aria-label": "Runs that are shown" }, shown),
        runs.length > 1 && tags.length ? h("p", { "data-testid": "tags" }, "Only ", ...only) : null,
        h("label", { class: "wbx-field" }, h("span", {}, "Compare ranks with"), this.base),
      ),
    );
  }

  /**
   * Tags and note of a run, below its name.
   * @param {{ tags: string[], note: string }} about
   */
  told({ tags, note }) {
    const text = [...tags.map(tag => `#${tag}`), note].filter(Boolean).join(" ");
    return text ? [words(text, "small")] : [];
  }

  /**
   * Shows the runs with a tag alone; all of them where they are shown alone already.
   * @param {string} tag
   */
  only(tag) {
    const { about } = this.view.config;
    const wanted = about.map(({ tags }) => tags.includes(tag));
    const again = this.boxes.every((box, run) => box.checked === wanted[run]);
    this.boxes.forEach((box, run) => {
      box.checked = again || wanted[run];
    });
    this.view.showRuns(this.boxes.map(box => box.checked));
    this.base.value = String(this.view.base);
  }
}
