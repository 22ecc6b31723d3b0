// The widget: a bar that stays on top, filters and panels at the side, and one question under way at a time.

import { footer, QueryBar, ViewBar } from "./bars.js";
import { Disagreements } from "./disagreements.js";
import { Exchange } from "./exchange.js";
import { Filters } from "./filters.js";
import { Gallery } from "./gallery.js";
import { Inspector } from "./inspector.js";
import { Kernel } from "./kernel.js";
import { Panels } from "./panels.js";
import { h, MARK_NAMES, shape, Thumbnails, toggled, unique, words } from "./parts.js";
import { QuerySide } from "./query_side.js";
import { Questions } from "./questions.js";
import { RunBar } from "./run_bar.js";

/** @import { Answer, Config, Item, Mark, Model, Seeks, Term } from "./types.d.ts" */

export const NARROW = 760; // css pixels below which the side lies under the answers

export class View {
  /**
   * @param {Model} model
   * @param {HTMLElement} el
   * @param {Thumbnails} thumbnails
   */
  constructor(model, el, thumbnails) {
    this.model = model;
    this.el = el;
    this.thumbnails = thumbnails;
    /** @type {Config} */
    this.config = model.get("config");
    this.name = `v${Math.random().toString(36).slice(2)}`;
    /** @type {Answer | null} */
    this.answer = null;
    /** @type {Map<number, Item>} */
    this.items = new Map();
    // how it is looked at
    /** @type {number[]} */
    this.pins = [];
    /** @type {number | null} */
    this.watched = null;
    this.base = 0;
    /** @type {Set<number>} */
    this.hiddenRuns = new Set();
    /** @type {WeakSet<HTMLImageElement>} */
    this.decoded = new WeakSet();
    /** @type {boolean | null} */
    this.side = null;
    /** @type {string | null} */
    this.layout = null;
    this.root = h("section", {
      class: "wbx",
      "aria-label": "Retrieval explorer",
      "data-testid": "explorer",
      "data-view": "gallery",
      onkeydown: event => this.onKey(event),
    });
    this.kernel = new Kernel(model, this.root, () => this.exchange.onLost());
    this.gallery = new Gallery(this);
    this.inspector = new Inspector(this);
    this.differ = new Disagreements(this);
    this.queries = new QuerySide(this);
    this.filters = new Filters(this);
    this.questions = new Questions(this);
    this.panels = new Panels(this);
    this.query = new QueryBar(this);
    this.bar = new ViewBar(this);
    this.runs = new RunBar(this);
    this.exchange = new Exchange(this);
    this.status = h("span", { class: "wbx-status", role: "status", "data-testid": "status" });
    this.truth = h("div", { class: "wbx-truth", dir: "auto", "data-testid": "truth" });
    this.near = h("div", { class: "wbx-near", "data-testid": "near" });
    this.note = h("div", { class: "wbx-note", "data-testid": "note" });
    this.trouble = h("div", { class: "wbx-trouble", role: "alert", "data-testid": "error" });
    this.main = this.answers();
    this.aside = h(
      "aside",
      { class: "wbx-side", id: `${this.name}-side`, "aria-label": "Filters and panels" },
      this.config.runs.length > 1 ? this.runs.box : null,
      this.queries.frame,
      this.filters.box,
      this.panels.boxes,
      this.questions.box,
      footer(this),
    );
    const strip = h(
      "div",
      { class: "wbx-strip" },
      this.kernel.strip,
      this.status,
      this.truth,
      this.near,
      this.legend(),
    );
    const middle = h("div", { class: "wbx-middle" }, this.main, this.gallery.said);
    this.root.append(
      h("header", { class: "wbx-header" }, this.query.box, this.bar.box, this.query.chipBox, this.trouble, strip),
      h("div", { class: "wbx-body" }, this.aside, middle, this.inspector.box),
    );
    el.append(this.root);
    /** @type {[string, (...given: any[]) => void][]} */
    this.listeners = [
      ["msg:custom", (message, buffers) => this.exchange.receive(message, buffers)],
      ["change:selected_idx", () => this.drawSelection(true)],
      ["change:selected", () => this.queries.heard()],
      ["change:saved", () => this.questions.draw()],
    ];
    this.listeners.forEach(([name, listener]) => model.on(name, listener));
    this.sizing = new ResizeObserver(() => this.fit());
    this.sizing.observe(this.root);
    this.query.replace(this.config.start, [], "images", this.config.startRow);
    const first = model.get("first");
    if (first?.query) {
      Object.entries(first.thumbnails).forEach(([key, url]) => this.thumbnails.urls.set(key, url));
      this.exchange.prepare();
      this.exchange.onAnswer({ number: `${this.name}-0`, answer: first });
    } else this.exchange.ask();
    this.queries.imagesHeard();
    this.queries.heard();
  }

  close() {
    this.queries.close();
    this.listeners.forEach(([name, listener]) => this.model.off(name, listener));
    this.kernel.close();
    this.sizing.disconnect();
    clearTimeout(this.exchange.timer);
  }

  answers() {
    const attributes = { class: "wbx-main-part", tabindex: 0, role: "region", "aria-label": "Answers" };
    /** @type {(event: { deltaY?: number }) => void} */
    const scrolled = event => this.scrolled(event);
    return h(
      "div",
      { ...attributes, "data-testid": "main", onscroll: scrolled, onwheel: scrolled },
      this.gallery.pins,
      this.note,
      this.gallery.columns,
      this.gallery.more,
      this.differ.box,
      this.queries.lines.box,
    );
  }

  /**
   * Which of gallery, queries, disagreements and pins is looked at.
   * @param {string} name
   */
  show(name) {
    this.root.dataset.view = name;
    this.bar.press(name);
    if (name === "differ" && !this.differ.found) this.differ.load(0);
    if (name === "queries") this.queries.selection.open();
  }

  get sideShown() {
    return this.side ?? !this.root.classList.contains("wbx-narrow");
  }

  fit() {
    this.root.classList.toggle("wbx-narrow", this.root.clientWidth < NARROW);
    this.root.classList.toggle("wbx-why", this.panels.open.size > 0);
    this.aside.hidden = !this.sideShown;
    this.bar.sideButton.setAttribute("aria-expanded", String(this.sideShown));
    if (this.answer) this.gallery.fit();
  }

  /**
   * Whoever scrolls down gets more; a short answer in the place of a long one scrolls as well, but not down.
   * @param {{ deltaY?: number }} event
   */
  scrolled({ deltaY = 0 }) {
    const { scrollTop, clientHeight, scrollHeight } = this.main;
    const down = deltaY > 0 || scrollTop > this.gallery.top;
    this.gallery.top = scrollTop;
    if (down && this.root.dataset.view === "gallery" && scrollTop + clientHeight > scrollHeight - 600)
      this.exchange.askMore();
  }

  /** @param {string} text */
  say(text) {
    this.status.textContent = text;
  }

  // Drawing an answer

  draw() {
    const { answer } = this;
    if (!answer) return;
    this.items = new Map([...answer.partners, ...answer.items].map(item => [item.row, item]));
    this.truth.textContent = answer.truth;
    this.near.replaceChildren(...Object.entries(answer.unusual).map(([word, near]) => this.unusual(word, near)));
    this.note.textContent = answer.note;
    this.gallery.draw();
    this.bar.layoutButton.textContent = this.gallery.layout === "grid" ? "as a list" : "as a grid";
    this.panels.draw();
    this.inspector.draw();
    this.drawSelection(false);
  }

  /**
   * A word that was typed and that captions do not use, with those that may be meant.
   * @param {string} word
   * @param {string[]} near
   */
  unusual(word, near) {
    const offer = (/** @type {string} */ other) =>
      h(
        "button",
        { type: "button", title: `${word} → ${other}`, onclick: () => this.query.reword(word, other) },
        `${other}?`,
      );
    return h("span", {}, "Captions do not say ", words(`“${word}”`), near.length ? ": " : ". ", near.map(offer));
  }

  /** @param {boolean} changed */
  drawSelection(changed) {
    const { only, onlyLabel, onlyCount } = this.bar;
    const { length } = this.selected();
    onlyLabel.hidden = !length && !only.checked;
    onlyCount.textContent = `only the ${length} selected`;
    this.gallery.mark();
    if (changed) this.queries.imagesHeard();
    if (changed && only.checked) this.exchange.ask();
  }

  /** Runs that are shown, the one that arrows refer to first. */
  order() {
    const runs = this.config.runs.map((_, i) => i).filter(i => i === this.base || !this.hiddenRuns.has(i));
    return unique([this.base, ...runs]);
  }

  /** The answer that is drawn. */
  get drawn() {
    if (!this.answer) throw new Error("nothing is answered yet");
    return this.answer;
  }

  /** @param {number} row */
  item(row) {
    const item = this.items.get(row);
    if (!item) throw new Error(`no item is in row ${row}`);
    return item;
  }

  legend() {
    const marks = /** @type {[Mark, string][]} */ (Object.entries(this.config.marks));
    return h(
      "span",
      { class: "wbx-legend wbx-dim" },
      marks.map(([mark, told]) => h("span", { title: told }, shape(mark), ` ${MARK_NAMES[mark]}`)),
    );
  }

  runHeads() {
    return this.config.runs.map(run => words(run, "th", { scope: "col" }));
  }

  /** @param {Item} item */
  badge(item) {
    const { grade, mark, level } = item;
    const told = grade === null ? "" : ` ${Number.isInteger(grade) ? grade : grade.toFixed(2)}`;
    return h(
      "span",
      { class: "wbx-badge", title: this.config.marks[mark] },
      shape(mark),
      h("span", {}, MARK_NAMES[mark] + told),
      level === null ? null : h("span", { class: "wbx-dim" }, ` level ${level}`),
    );
  }

  /** @param {string} start */
  ofWatched(start) {
    const item = this.items.get(this.answer?.watched ?? -1);
    const first = this.query.unedited !== null ? "the first answer before the edits" : "the first answer";
    const which = this.watched === null ? `${first}; open another item to watch it` : "the opened item";
    return item ? `${start} ${item.id} (${which}).` : "";
  }

  /** @param {number} row */
  openItem(row) {
    this.watched = row;
    this.inspector.open(row);
    if (this.panels.open.size) this.exchange.ask();
  }

  closeItem() {
    const { row } = this.inspector;
    this.inspector.row = this.watched = null;
    this.inspector.draw();
    const card = this.gallery.columns.querySelector(`.wbx-card[data-row="${row}"]`);
    if (card instanceof HTMLElement) card.focus();
  }

  /** Ask again, e.g. since a panel has set something else. */
  ask() {
    this.exchange.ask();
  }

  /** Ask again once nothing more is typed or moved. */
  askLater() {
    this.exchange.askLater();
  }

  /**
   * Ask again, the sentence worded by a panel; the box is to hold what is asked.
   * @param {boolean} reworded whether the panel still words it
   */
  reword(reworded) {
    this.query.reworded(reworded);
    this.exchange.ask();
  }

  /**
   * @param {string} caption
   * @param {number} row
   */
  askCaption(caption, row) {
    this.restart(caption, [], "images", row);
  }

  /**
   * Ask for one term alone: an image, or a caption by its row.
   * @param {Term} term
   * @param {Seeks} seeks
   */
  askTerm(term, seeks) {
    this.restart("", [term], seeks);
  }

  /**
   * @param {string} text
   * @param {Term[]} chips
   * @param {Seeks} seeks
   * @param {number | null} row of the caption that the text is
   */
  restart(text, chips, seeks, row = null) {
    this.panels.forget();
    this.query.replace(text, chips, seeks, row);
    this.forgetRows();
    this.exchange.ask();
  }

  /** Rows mean something else once other things are sought. */
  forgetRows() {
    if (this.query.seeks.value === this.answer?.query.seeks) return;
    this.pins = [];
    this.inspector.row = this.watched = null;
  }

  // Pins, selection, runs

  /** @param {number} row */
  pin(row) {
    this.pins = toggled(this.pins, row);
    this.exchange.ask();
  }

  /** @returns {number[]} */
  selected() {
    return this.model.get("selected_idx");
  }

  /** @param {number} row */
  select(row) {
    this.model.set("selected_idx", toggled(this.selected(), row));
    this.model.save_changes();
    this.drawSelection(true);
  }

  /**
   * @param {number} run
   * @param {boolean} on
   */
  showRun(run, on) {
    if (on) this.hiddenRuns.delete(run);
    else this.hiddenRuns.add(run);
    this.draw();
  }

  /**
   * Shows some runs alone; ranks are compared with one of them.
   * @param {boolean[]} shown of every run
   */
  showRuns(shown) {
    this.hiddenRuns = new Set([...shown.keys()].filter(run => !shown[run]));
    if (!shown[this.base]) this.base = shown.indexOf(true);
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof Element)) return;
    if (event.key === "Escape" && this.inspector.row !== null) {
      event.preventDefault();
      this.closeItem();
      return;
    }
    if (target.matches("input, select, textarea")) return;
    const card = target.closest(".wbx-card");
    const { text } = this.query;
    const typing = () => {
      text.focus();
      text.select();
    };
    const cards = card instanceof HTMLElement ? this.gallery.keys(card) : {};
    /** @type {Record<string, () => void>} */
    const keys = {
      "/": typing,
      n: () => this.differ.go(1),
      N: () => this.differ.go(-1),
      j: () => this.queries.lines.go(1),
      k: () => this.queries.lines.go(-1),
      ...cards,
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

/** @type {WeakMap<Model, Thumbnails>} */
const kept = new WeakMap();

/** @param {Model} model */
function thumbnailsOf(model) {
  const thumbnails = kept.get(model) ?? new Thumbnails();
  kept.set(model, thumbnails);
  return thumbnails;
}

export default {
  /** @param {{ model: Model }} widget */
  initialize({ model }) {
    thumbnailsOf(model);
  },
  /** @param {{ model: Model, el: HTMLElement }} widget */
  render({ model, el }) {
    const view = new View(model, el, thumbnailsOf(model));
    return () => view.close();
  },
};
