// The way from the question to the root, the embedding of the empty text.

import { elements, h, heading, number, table, unique, words } from "../../../workbench/views/explorer/parts.js";

/** @import { Page, View } from "../../../workbench/views/explorer/types.d.ts" */
/** @import { Step } from "./types.d.ts" */

const ROOT = "The root is the embedding of the empty text, the most generic query.";

/**
 * What a run finds nearest at a step, on a page without a kernel.
 * @param {Page} page
 * @param {string} run
 * @param {Step | undefined} step
 */
function nearest(page, run, step) {
  if (!step) return h("div", {}, words(run, "h4"), "no walk was made for this run");
  const level = step.level === null ? "" : `, level ${step.level}`;
  return h(
    "div",
    { class: "wbt-column" },
    words(run, "h4"),
    h(
      "div",
      { class: "wbt-card" },
      page.thumbnail(step.thumbnail, `nearest image: ${step.image}`),
      h(
        "span",
        { class: "wbt-about" },
        h("span", { class: "wbt-top" }, `cosine ${number(step.cosine)}${level}`),
        words(step.text),
      ),
    ),
  );
}

/** The way from the question to the root, the embedding of the empty text. */
export default class WayPanel {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.walk = 0;
    this.box = h("div");
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: 1,
      step: 0.1,
      value: 0,
      "data-testid": "walk",
      "aria-label": "share of the way to the root",
      oninput: () => {
        this.walk = Number(this.slider.value);
        this.mark();
        view.askLater();
      },
    });
    this.said = h("output", { "data-testid": "walk-said" });
    this.steps = h("div");
    this.box.append(
      h(
        "label",
        { class: "wbx-field wbx-inline" },
        h("span", {}, "The query"),
        this.slider,
        h("span", {}, "the root "),
        this.said,
      ),
      h(
        "p",
        { class: "wbx-dim" },
        `${ROOT} The slider moves the query along the sphere towards it, and the results follow. The table shows the ` +
          "nearest image, the nearest caption and its cosine at each step.",
      ),
      this.steps,
    );
  }

  settings() {
    return { walk: this.walk };
  }

  /** @param {{ walk: number }} settings */
  restore({ walk }) {
    this.set(walk);
  }

  /** @param {number} walk */
  set(walk) {
    this.walk = walk;
    this.slider.value = String(walk);
    this.mark();
  }

  /** @param {{ steps: Step[] }} data */
  draw({ steps }) {
    const { thumbnails } = this.view;
    const { runs } = this.view.drawn;
    const go = (/** @type {number} */ walk) => {
      this.set(walk);
      this.view.ask();
    };
    const head = (/** @type {number} */ walk) =>
      h(
        "th",
        { scope: "row", "data-walk": walk },
        h("button", { type: "button", class: "wbx-link", onclick: () => go(walk) }, `${Math.round(100 * walk)} %`),
      );
    const cell = (/** @type {number} */ walk, /** @type {number} */ run) => {
      const step = steps.find(one => one.walk === walk && one.run === run);
      // a run without vectors has no way
      if (!step) return h("td", {}, "–");
      return h(
        "td",
        { "data-walk": step.walk },
        thumbnails.image(step.thumbnail, `image ${step.image}`),
        words(step.text, "span", { class: "wbx-caption", title: step.text }),
        h(
          "span",
          { class: "wbx-dim" },
          `${step.level === null ? "" : `level ${step.level}, `}${number(step.cosine, 2)}`,
        ),
      );
    };
    const line = (/** @type {number} */ walk) =>
      h(
        "tr",
        {},
        head(walk),
        runs.map((_, run) => cell(walk, run)),
      );
    this.steps.replaceChildren(
      table(
        "Steps of the way",
        [heading("Way"), ...this.view.runHeads()],
        unique(steps.map(step => step.walk)).map(line),
        { class: "wbx-table wbx-way" },
      ),
    );
    this.mark();
  }

  mark() {
    this.said.textContent = `${Math.round(100 * this.walk)} %`;
    elements(this.steps, "[data-walk]").forEach(line => {
      if (Math.abs(Number(line.dataset.walk) - this.walk) < 0.01) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    });
  }

  /**
   * @param {{ steps: Step[] }} data
   * @param {Page} page
   */
  static page({ steps }, page) {
    if (!steps.length) return "";
    const { runs } = page.answer;
    const walks = unique(steps.map(step => step.walk)).sort((a, b) => a - b);
    const shown = h("div", { class: "wbt-columns", "data-testid": "static-way" });
    const share = h("output", {});
    const slider = h("input", {
      type: "range",
      min: 0,
      max: walks.length - 1,
      step: 1,
      value: 0,
      "data-testid": "static-walk",
    });
    const move = () => {
      const walk = walks[Number(slider.value)];
      const text = `${Math.round(100 * walk)} % of the way to the root`;
      share.textContent = text;
      slider.setAttribute("aria-valuetext", text);
      const columns = runs.map((run, i) =>
        nearest(
          page,
          run,
          steps.find(step => step.run === i && step.walk === walk),
        ),
      );
      shown.replaceChildren(...columns);
    };
    slider.addEventListener("input", move);
    move();
    return page.part(
      "Walk to the root",
      "Walk to the root: from specific to generic",
      h("p", {}, `${ROOT} Each step shows the image and the caption nearest to the point on the way.`),
      h("label", {}, h("span", {}, "walk "), slider, " ", share),
      shown,
    );
  }
}
