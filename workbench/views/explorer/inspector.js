// The opened item: large, with its captions and its place in every run.

import { address, h, heading, number, place, table, words } from "./parts.js";

/** @import { View } from "./explorer.js" */

/** One item, large, with its captions and its place in every run. */
export class Inspector {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** @type {number | null} */
    this.row = null;
    /** @type {string | null} */
    this.large = null;
    this.box = h("aside", {
      class: "wbx-inspector",
      "aria-label": "Opened item",
      "data-testid": "inspector",
      hidden: true,
    });
  }

  /** @param {number} row */
  open(row) {
    const { thumbnail } = this.view.item(row);
    /** @type {number | null} */
    this.row = row;
    /** @type {string | null} */
    this.large = null;
    this.draw();
    if (thumbnail) this.view.exchange.send({ kind: "open", row: Number(thumbnail) });
  }

  /**
   * @param {number} row
   * @param {DataView} buffer
   */
  take(row, buffer) {
    const item = this.view.items.get(this.row ?? -1);
    if (!item || item.thumbnail !== String(row)) return;
    if (this.large) URL.revokeObjectURL(this.large);
    this.large = address(buffer);
    this.draw();
  }

  draw() {
    const { view } = this,
      item = view.items.get(this.row ?? -1);
    this.box.hidden = !item;
    if (!item) {
      this.box.replaceChildren();
      return;
    }
    const image = Number(item.thumbnail);
    const shown = item.thumbnail
      ? h("img", { src: this.large || view.thumbnails.urls.get(item.thumbnail), alt: item.captions[0] ?? item.id })
      : null;
    const askCaption = (/** @type {string} */ caption, /** @type {number} */ i) =>
      h(
        "li",
        {},
        words(caption),
        " ",
        h(
          "button",
          { type: "button", "aria-label": `ask: ${caption}`, onclick: () => view.askCaption(caption, item.rows[i]) },
          "ask",
        ),
      );
    const term = (/** @type {number} */ sign) => ({
      kind: "image",
      value: image,
      sign,
      name: `image ${view.drawn.query.seeks === "images" ? item.id : image}`,
      thumbnail: item.thumbnail,
    });
    const button = (/** @type {string} */ label, /** @type {() => void} */ onclick, /** @type {string} */ testid) =>
      h("button", { type: "button", onclick, "data-testid": testid }, label);
    const actions = item.thumbnail
      ? [
          button("Find captions for this image", () => view.askTerm(term(1), "captions"), "ask-image"),
          button("+ image", () => view.query.add(term(1)), "plus-image"),
          button("− image", () => view.query.add(term(-1)), "minus-image"),
        ]
      : [];
    const line = (/** @type {string} */ run, /** @type {number} */ i) =>
      h(
        "tr",
        {},
        words(run, "th", { scope: "row" }),
        h("td", {}, place(item.ranks[i])),
        h("td", {}, number(item.scores[i])),
      );
    this.box.replaceChildren(
      h(
        "div",
        { class: "wbx-actions wbx-close" },
        button("Close", () => view.closeItem(), "close"),
      ),
      shown ?? "",
      h("h3", {}, words(item.id), " ", view.badge(item)),
      h("ul", {}, item.captions.map(askCaption)),
      table("Rank and score in every run", ["Run", "Rank", "Score"].map(heading), view.drawn.runs.map(line)),
      h("p", { class: "wbx-actions" }, actions),
    );
  }
}
