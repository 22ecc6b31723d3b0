// The queries on a page without a kernel: filters, numbers and ranks of all of them, and the answers that lie in it.

import { h } from "./parts.js";
import { followLinks, QueryList } from "./query_list.js";
import { selectionIn } from "./query_table.js";
import { Selection } from "./selection.js";

/** @import { QueryHost, QueryRecord } from "./types.d.ts" */
/** @import { StaticPage } from "./static.js" */

/**
 * The bytes that a text holds.
 * @param {string} text
 * @returns {ArrayBuffer}
 */
const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer;

/** @implements {QueryHost} */
export class StaticQueries {
  /**
   * @param {StaticPage} page
   * @param {Record<string, QueryRecord>} tables by direction
   */
  constructor(page, tables) {
    this.page = page;
    this.tables = tables;
    this.status = h("p", { role: "status" });
    this.selection = new Selection(this);
    this.lines = new QueryList(this.selection, this);
    this.frame = h(
      "details",
      {
        class: "wbt-queries",
        "data-testid": "query-side",
        ontoggle: () => {
          if (this.frame.open) this.selection.open();
        },
      },
      h("summary", {}, h("h3", {}, "Queries by field")),
      h("div", { class: "wbt-sides" }, this.selection.box, h("div", {}, this.status, this.lines.box)),
    );
    followLinks(text => this.open(text));
    window.addEventListener("hashchange", () => this.openAddress());
  }

  /** Select what the address of the page says. */
  openAddress() {
    const text = selectionIn(location.hash);
    const { table, chosen } = this.selection;
    if (text && text !== (table ? table.text(chosen) : "")) this.open(text);
  }

  /** @param {string} text */
  open(text) {
    this.frame.open = true;
    this.selection.apply(text);
    this.frame.scrollIntoView();
  }

  /** @param {string} direction */
  load(direction) {
    const record = this.tables[direction];
    if (record) this.selection.take(record, (record.blobs ?? []).map(bytesOf));
    else this.selection.fail("This page has no queries of this direction.");
  }

  learn() {
    return false;
  }

  /**
   * The number of the answer to a query; -1 = the page has none.
   * @param {number} row
   */
  answerOf(row) {
    const { table } = this.selection;
    if (!table) return -1;
    const [seeks, text] = table.record.direction === "t2i" ? ["images", table.record.texts[row]] : ["captions", ""];
    const image = text ? "" : String(table.images[row]);
    return this.page.answers.findIndex(
      ({ query }) => query.seeks === seeks && query.text === text && query.image === image,
    );
  }

  /** @param {number} row */
  has(row) {
    return this.answerOf(row) >= 0;
  }

  /** @param {number} row */
  ask(row) {
    const at = this.answerOf(row);
    if (at < 0) this.say("The answers to this query are not on this page.");
    else {
      this.page.show(at);
      this.page.view.scrollIntoView();
    }
  }

  /** @param {string} key */
  image(key) {
    return this.page.thumbnail(key, "");
  }

  want() {}

  changed() {
    this.page.remember();
  }

  /** @param {string} text */
  say(text) {
    this.status.textContent = text;
  }

  list() {
    this.lines.box.scrollIntoView();
  }

  /** What is selected, as the address keeps it; "" = everything. */
  get text() {
    const { table, chosen } = this.selection;
    return table && !chosen.empty ? table.text(chosen) : "";
  }

  foot() {
    const write = () => {
      const { table, rows } = this.selection;
      if (!table) return;
      const file = new Blob([table.csv(rows)], { type: "text/csv" });
      const link = h("a", { href: URL.createObjectURL(file), download: "queries.csv" });
      link.click();
      URL.revokeObjectURL(link.href);
    };
    return h("button", { type: "button", "data-testid": "export-queries", onclick: write }, "Export the list (CSV)");
  }
}
