// How far the score falls without each word.

import { h, heading, signed, table, words } from "../../../workbench/views/explorer/parts.js";

/** @import { Page, View } from "../../../workbench/views/explorer/types.d.ts" */
/** @import { Word } from "./types.d.ts" */

/** How far the score falls without each word. */
export default class WordsPanel {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.box = h("div");
  }

  /** @param {{ words: Word[] }} data */
  draw(data) {
    if (!data.words.length) {
      this.box.replaceChildren(h("p", { class: "wbx-dim" }, "Ask for images with a text of at least two words."));
      return;
    }
    const most = Math.max(1e-9, ...data.words.flatMap(word => word.effects.map(Math.abs)));
    const bar = (/** @type {number} */ effect) =>
      h(
        "td",
        {},
        h("span", {
          class: `wbx-effect ${effect < 0 ? "wbx-less" : ""}`,
          style: `width:${(60 * Math.abs(effect)) / most}px`,
        }),
        h("span", { class: "wbx-num" }, signed(effect)),
      );
    const line = (/** @type {Word} */ word) =>
      h("tr", {}, words(word.text, "th", { scope: "row" }), word.effects.map(bar));
    this.box.replaceChildren(
      h(
        "p",
        { class: "wbx-dim" },
        "How far the score falls when a word is left out; striped bars are words without which it rises. " +
          `These are not attention weights. ${this.view.ofWatched("Scores of")}`,
      ),
      table("Effect of each word", [heading("Word"), ...this.view.runHeads()], data.words.map(line)),
    );
  }

  /**
   * @param {{ words: Word[] }} data
   * @param {Page} page
   */
  static page(data, page) {
    if (!data.words.length) return "";
    const lines = data.words.map(word =>
      h(
        "tr",
        {},
        words(word.text, "th", { scope: "row" }),
        word.effects.map(effect => h("td", {}, signed(effect))),
      ),
    );
    const table = page.sheet(
      "Fall of the score when the word is left out",
      ["word", ...page.answer.runs],
      lines,
      "static-words",
    );
    return page.part("Effect of each word", "How much each word matters", table);
  }
}
