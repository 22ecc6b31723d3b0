// Questions that are kept: those that have a name and tags, and the last ones that were asked; all of them in one file.

import { h, unique, words } from "./parts.js";

/** @import { Kept, State } from "./types.d.ts" */
/** @import { View } from "./explorer.js" */

export const LAST = 30; // questions that the history keeps
export const STOOD = 2000; // ms after which a question was read, and was not only passed on the way to a longer one
export const FORMAT = "workbench explorer, questions";

/**
 * The history with a question as its newest, once.
 * @param {Kept[]} history newest first
 * @param {Kept} asked
 * @param {boolean} brief whether the newest stood for a moment only: half-typed words give way to what they become
 */
export function noted(history, asked, brief) {
  const newest = history.at(0);
  const passing = brief && newest && (asked.name.startsWith(newest.name) || newest.name.startsWith(asked.name));
  return [asked, ...history.slice(passing ? 1 : 0).filter(one => one.name !== asked.name)].slice(0, LAST);
}

/**
 * The questions of a file, or why they cannot be taken.
 * @param {string} text the file
 * @param {string} split whose rows the questions name
 * @returns {{ problem: string, questions: Kept[], history: Kept[] }}
 */
export function read(text, split) {
  const none = { questions: [], history: [] };
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    content = null;
  }
  /** @type {(one: any) => boolean} */
  const kept = one =>
    typeof one?.name === "string" &&
    Array.isArray(one.tags) &&
    Array.isArray(one.state?.chips) &&
    typeof one.state.panels === "object";
  const lists = [content?.questions, content?.history];
  if (content?.format !== FORMAT || !lists.every(list => Array.isArray(list) && list.every(kept)))
    return { problem: "This is no file of questions; choose one that was exported here.", ...none };
  if (content.split !== split)
    return {
      problem: `These questions are of ${content.split}, and this is ${split}, whose rows are others.`,
      ...none,
    };
  return { problem: "", questions: content.questions, history: content.history };
}

export class Questions {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** @type {Kept[]} */
    this.history = [];
    this.noted = 0;
    const field = (/** @type {string} */ testid, /** @type {string} */ label) =>
      h("input", {
        type: "text",
        "data-testid": testid,
        "aria-label": label,
        placeholder: label,
        dir: "auto",
        autocomplete: "off",
      });
    this.name = field("save-name", "name");
    this.tags = field("save-tags", "tags");
    this.wanted = field("save-find", "find by name or tag");
    this.wanted.addEventListener("input", () => this.draw());
    this.saved = h("ul", { "data-testid": "saved", "aria-label": "Saved questions" });
    this.past = h("ul", { "data-testid": "history", "aria-label": "History" });
    const file = h("input", {
      type: "file",
      accept: ".json,application/json",
      "data-testid": "load-questions",
      onchange: () => this.load(file),
    });
    const button = (/** @type {string} */ testid, /** @type {string} */ label, /** @type {() => void} */ onclick) =>
      h("button", { type: "button", "data-testid": testid, onclick }, label);
    this.box = h(
      "details",
      { "data-testid": "questions" },
      h("summary", {}, "Questions: saved and asked"),
      h(
        "div",
        { class: "wbx-panel-body" },
        h(
          "div",
          { class: "wbx-save" },
          this.name,
          this.tags,
          button("save", "Save", () => this.save()),
        ),
        h(
          "div",
          { class: "wbx-save" },
          button("export-questions", "Export to a file", () => this.export()),
          h("label", { class: "wbx-file" }, h("span", {}, "Load a file"), file),
        ),
        this.wanted,
        this.saved,
        h("h3", {}, "Last asked"),
        this.past,
      ),
    );
    this.draw();
  }

  /** @returns {Kept[]} */
  get kept() {
    return this.view.model.get("saved") ?? [];
  }

  /** @param {Kept[]} questions */
  keep(questions) {
    this.view.model.set("saved", questions);
    this.view.model.save_changes();
    this.draw();
  }

  /** An image or a vector that was uploaded is in the kernel alone, and cannot be asked again from a file. */
  get loose() {
    return (this.view.exchange.last?.terms ?? []).some(term => term.kind === "upload");
  }

  /**
   * Every answered question is the newest of the history, once; half-typed words give way to what they become.
   * @param {string} name
   */
  note(name) {
    if (this.loose) return;
    const now = performance.now();
    const brief = now - this.noted < STOOD;
    this.noted = now;
    this.history = noted(this.history, { name, tags: [], state: this.view.exchange.looks }, brief);
    this.draw();
  }

  save() {
    const { answer } = this.view;
    const { last } = this.view.exchange;
    if (!answer || !last) return;
    const name = this.name.value.trim() || answer.query.label;
    const tags = unique(this.tags.value.split(/[\s,]+/).filter(Boolean));
    if (this.loose) {
      this.view.say("An image or vector that was uploaded is not kept with a question; remove it first.");
      return;
    }
    this.keep([
      ...this.kept.filter(one => one.name !== name),
      { name, tags, state: this.state(), question: { ...last, skip: 0 } },
    ]);
    this.name.value = this.tags.value = "";
    this.view.say(`Saved: ${name}`);
  }

  export() {
    const content = { format: FORMAT, split: this.view.config.split, questions: this.kept, history: this.history };
    const link = h("a", {
      href: URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: "application/json" })),
      download: "questions.json",
    });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  /** @param {HTMLInputElement} file */
  async load(file) {
    const text = await file.files?.[0]?.text();
    file.value = "";
    if (text === undefined) return;
    const { problem, questions, history } = read(text, this.view.config.split);
    this.view.trouble.textContent = problem;
    if (problem) return;
    const named = new Map([...this.kept, ...questions].map(one => [one.name, one]));
    this.history = [...this.history, ...history].slice(0, LAST);
    this.keep([...named.values()]);
  }

  draw() {
    const wanted = this.wanted.value.trim().toLowerCase();
    const fits = (/** @type {Kept} */ one) => [one.name, ...one.tags].some(word => word.toLowerCase().includes(wanted));
    const again = (/** @type {Kept} */ one) =>
      h(
        "button",
        { type: "button", class: "wbx-link", onclick: () => this.restore(one.state) },
        words(one.name, "span", { class: "wbx-caption" }),
      );
    this.saved.replaceChildren(
      ...this.kept.filter(fits).map(one =>
        h(
          "li",
          {},
          again(one),
          one.tags.map(tag => h("span", { class: "wbx-tag" }, tag)),
          h(
            "button",
            {
              type: "button",
              "aria-label": `forget ${one.name}`,
              onclick: () => this.keep(this.kept.filter(other => other.name !== one.name)),
            },
            "✕",
          ),
        ),
      ),
    );
    this.past.replaceChildren(...this.history.map(one => h("li", {}, again(one))));
  }

  /**
   * What is asked and how it is looked at, so that it can be kept and asked again.
   * @returns {State}
   */
  state() {
    const { view } = this;
    const { text, unedited, plus, minus, seeks, chips } = view.query;
    return {
      text: unedited ?? text.value,
      plus: plus.value,
      minus: minus.value,
      seeks: seeks.value,
      k: view.bar.k.value,
      size: view.bar.size.value,
      layout: view.layout,
      base: view.base,
      hidden: [...view.hiddenRuns],
      chips: chips.filter(chip => chip.kind !== "upload").map(({ thumbnail, ...chip }) => chip),
      pins: view.pins,
      reworded: unedited !== null,
      panels: view.panels.settings(),
      open: [...view.panels.open],
      filters: view.filters.values(),
    };
  }

  /** @param {State} state */
  restore(state) {
    const { view } = this;
    const { query, bar, panels } = view;
    query.text.value = query.typed = state.text;
    query.unedited = state.reworded ? state.text : null;
    query.plus.value = state.plus ?? "";
    query.minus.value = state.minus;
    query.seeks.value = state.seeks;
    query.chips = state.chips.map(chip => ({ ...chip }));
    bar.k.value = state.k;
    bar.size.value = state.size;
    bar.only.checked = false;
    view.layout = state.layout;
    view.base = Math.min(state.base, view.config.runs.length - 1);
    view.hiddenRuns = new Set(state.hidden);
    view.pins = [...state.pins];
    view.watched = view.inspector.row = null;
    view.filters.set(state.filters);
    view.root.style.setProperty("--wbx-size", `${state.size}px`);
    view.runs.base.value = String(view.base);
    view.runs.boxes.forEach((box, i) => {
      box.checked = !view.hiddenRuns.has(i);
    });
    panels.restore(state.panels, state.open);
    query.drawChips();
    view.show("gallery");
    view.exchange.ask();
  }
}
