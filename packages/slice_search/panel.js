// The slices on which a run is worse, or on which two runs differ most.

import { h, heading, table, words } from "../../workbench/views/explorer/parts.js";

/** @import { Page, View } from "../../workbench/views/explorer/types.d.ts" */

/** @typedef {{ row: number, text: string, thumbnail: string }} SliceQuery */
/** @typedef {{ label: string, effect: string, count: string, queries: SliceQuery[], address: string }} Slice */
/** @typedef {{ title: string, summary: string, slices: Slice[] }} SliceData */

/**
 * The label of a slice, which opens its queries.
 * @param {Slice} slice
 */
const link = slice => h("a", { href: slice.address, "data-testid": "slice-link" }, slice.label);

/** Slices with typical captions; one that is chosen is asked. */
export default class SlicesPanel {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.box = h("div", { class: "wbx-slices" });
  }

  /** @param {SliceData} data */
  draw(data) {
    const query = (/** @type {SliceQuery} */ typical) =>
      h(
        "button",
        {
          type: "button",
          class: "wbx-link",
          "data-testid": "slice-query",
          onclick: () => {
            this.view.askCaption(typical.text, typical.row);
            this.view.show("gallery");
          },
        },
        this.view.thumbnails.image(typical.thumbnail, ""),
        words(typical.text, "span", { class: "wbx-caption" }),
      );
    const line = (/** @type {Slice} */ slice) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, link(slice), h("div", { class: "wbx-num" }, slice.effect)),
        h("td", {}, slice.queries.map(query)),
        h("td", { class: "wbx-num" }, slice.count),
      );
    const heads = [heading("Slice and effect"), heading("Typical captions"), heading("Queries")];
    this.box.replaceChildren(
      h("p", {}, data.title),
      h("p", { class: "wbx-dim" }, data.summary),
      data.slices.length
        ? table("Slices", heads, data.slices.map(line))
        : h("p", {}, "No slice differs significantly."),
    );
  }

  /**
   * @param {SliceData} data
   * @param {Page} page
   */
  static page(data, page) {
    if (!data.slices.length) return "";
    const lines = data.slices.map(slice =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, link(slice)),
        h("td", {}, slice.effect),
        h("td", {}, slice.count),
        h(
          "td",
          {},
          slice.queries.map(query => words(query.text, "div")),
        ),
      ),
    );
    const sheet = page.sheet(data.title, ["slice", "effect", "queries", "typical captions"], lines, "static-slices");
    return page.part("Slices", data.summary, sheet);
  }
}
