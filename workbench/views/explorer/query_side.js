// The queries in the widget: the kernel sends their table, and what is selected is known to Python and to linked maps.

import { h, unique } from "./parts.js";
import { followLinks, QueryList } from "./query_list.js";
import { Chosen, decode } from "./query_table.js";
import { Selection } from "./selection.js";

/** @import { QueryHost } from "./types.d.ts" */
/** @import { View } from "./explorer.js" */

/** @type {(one: Iterable<number>, other: Iterable<number>) => boolean} */
const same = (one, other) => {
  const [first, second] = [new Set(one), new Set(other)];
  return first.size === second.size && [...first].every(value => second.has(value));
};

/** @implements {QueryHost} */
export class QuerySide {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.selection = new Selection(this);
    this.lines = new QueryList(this.selection, this);
    this.frame = h(
      "details",
      {
        "data-testid": "query-side",
        ontoggle: () => {
          if (this.frame.open) this.selection.open();
        },
      },
      h("summary", {}, "Queries by field"),
      h("div", { class: "wbx-panel-body" }, this.selection.box),
    );
    this.close = followLinks(text => {
      this.open(text);
      view.root.scrollIntoView({ block: "nearest" });
    });
  }

  /**
   * Show the queries of a selection.
   * @param {string} text
   */
  open(text) {
    this.view.side = true;
    this.frame.open = true;
    this.view.show("queries");
    this.view.fit();
    this.selection.apply(text);
  }

  /** Python has selected something else. */
  heard() {
    const text = this.view.model.get("selected");
    const { table, chosen } = this.selection;
    if (text && text !== (table ? table.text(chosen) : "")) this.open(text);
    if (!text && table && !chosen.empty) this.selection.choose(new Chosen());
  }

  /** Images were selected, among the answers, on a map or in Python. */
  imagesHeard() {
    const images = this.view.selected();
    const { selection } = this;
    if (selection.table && same(images, selection.chosen.empty ? [] : selection.images())) return;
    selection.takeImages(images);
  }

  // What the selection asks for

  /**
   * @param {string} direction
   * @param {string[]} names
   */
  load(direction, names) {
    this.view.exchange.send({ kind: "queries", direction, names });
  }

  /**
   * @param {string} direction
   * @param {string} label
   */
  learn(direction, label) {
    this.view.exchange.send({ kind: "condition", direction, label });
    return true;
  }

  /** @param {{ label: string, column: any }} message
   * @param {DataView[]} blobs */
  learnt({ label, column }, blobs) {
    const { table } = this.selection;
    if (table) this.selection.learnt(label, decode(column, table.size, blobs));
  }

  has() {
    return true;
  }

  /** @param {number} row */
  ask(row) {
    const { view } = this;
    const record = this.selection.table?.record;
    if (!record) return;
    if (record.direction === "t2i") view.askCaption(record.texts[row], row);
    else view.askTerm({ kind: "image", value: row, sign: 1, name: `image ${record.ids[row]}` }, "captions");
    view.show("gallery");
  }

  /** @param {string} key */
  image(key) {
    const { thumbnails } = this.view;
    return thumbnails.urls.has(key) ? thumbnails.image(key, "") : null;
  }

  /** @param {string[]} keys */
  want(keys) {
    this.view.exchange.send({ kind: "thumbnails", page: this.view.thumbnails.page, wanted: unique(keys) });
  }

  list() {
    this.view.show("queries");
  }

  changed() {
    const { model } = this.view;
    const { table, chosen } = this.selection;
    if (!table) return;
    const images = chosen.empty ? [] : this.selection.images();
    const text = chosen.empty ? "" : table.text(chosen);
    if (text !== model.get("selected")) model.set("selected", text);
    if (!same(images, model.get("selected_idx"))) model.set("selected_idx", images);
    model.save_changes();
  }

  /** @param {string} text */
  say(text) {
    this.view.say(text);
  }

  /**
   * The names of a slice and of a file, and the buttons that write them.
   * @returns {HTMLElement}
   */
  foot() {
    const field = (/** @type {string} */ testid, /** @type {string} */ label, /** @type {string} */ value) =>
      h("input", { type: "text", value, placeholder: label, "aria-label": label, "data-testid": testid });
    const name = field("slice-name", "name", "");
    const path = field("queries-path", "file: .csv, .json or .parquet", "queries.csv");
    const save = () =>
      this.send("save-slice", { name: name.value.trim(), about: this.selection.table?.text(this.selection.chosen) });
    const write = () => this.send("export-queries", { path: path.value.trim() });
    const line = (/** @type {string} */ label, /** @type {HTMLElement} */ input, /** @type {HTMLElement} */ button) =>
      h("div", { class: "wbq-line" }, h("span", {}, label), input, button);
    const button = (/** @type {string} */ testid, /** @type {string} */ label, /** @type {() => void} */ onclick) =>
      h("button", { type: "button", "data-testid": testid, onclick }, label);
    return h(
      "div",
      { class: "wbq-foot" },
      line("Save as slice:", name, button("save-slice", "Save", save)),
      line("Export to", path, button("export-queries", "Export", write)),
    );
  }

  /**
   * Send the selected queries.
   * @param {string} kind
   * @param {Record<string, unknown>} fields
   */
  send(kind, fields) {
    const { table, rows } = this.selection;
    if (table) this.view.exchange.send({ kind, direction: table.record.direction, rows, ...fields });
  }

  /** @param {string} name of the field that a saved slice is */
  saved(name) {
    this.say(`Saved: cut by it with --by ${name}`);
    this.selection.load();
  }
}
