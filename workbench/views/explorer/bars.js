// The bars above the answers: what a person types into, adds and subtracts, and how the answers are looked at.

import { DEBOUNCE, h, reworded, words } from "./parts.js";

/** @import { Term, Seeks } from "./types.d.ts" */
/** @import { View } from "./explorer.js" */

export const KEYS = [
  ["/", "query"],
  ["arrows", "move"],
  ["Enter", "opens"],
  ["p", "pins"],
  ["s", "selects"],
  ["n", "next disagreement"],
  ["j, k", "next and previous query"],
  ["Esc", "closes"],
];

/** What is asked: words to add and to subtract, and terms of the data or from files. */
export class QueryBar {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** @type {Term[]} */
    this.chips = [];
    /** @type {Term | null} what the text is a caption of */
    this.caption = null;
    /** @type {string | null} the sentence that a panel words, while the box holds how it is worded */
    this.unedited = null;
    /** @type {Term[]} */
    this.found = [];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.suggesting = undefined;
    this.text = h("input", {
      type: "text",
      class: "wbx-text",
      "data-testid": "query",
      "aria-label": "Question",
      placeholder: "a sentence (press / to type here)",
      dir: "auto",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => {
        this.forgetEdits();
        // a new sentence is a new question; what is to be added has a field of its own
        if (!this.typed && this.chips.length) {
          this.chips = [];
          this.seeks.value = "images";
          view.forgetRows();
        }
        this.typed = this.text.value;
        this.drawChips();
        view.exchange.askLater();
      },
    });
    /** The sentence as it stood before the last key. */
    this.typed = "";
    this.plus = this.field("plus", "Add words", "+ words");
    this.minus = this.field("minus", "Subtract words", "− words");
    const kinds = ["images", "captions", ...(view.config.sizes.entities ? ["entities"] : [])];
    this.seeks = h(
      "select",
      {
        "data-testid": "seeks",
        "aria-label": "Find",
        onchange: () => {
          view.forgetRows();
          view.exchange.ask();
        },
      },
      kinds.map(kind => h("option", { value: kind }, kind)),
    );
    this.offered = h("datalist", { id: `${view.name}-offered` });
    this.fromData = h("input", {
      type: "text",
      list: `${view.name}-offered`,
      "data-testid": "from-data",
      "aria-label": "Add an image or a caption of the data",
      placeholder: "+ from the data",
      autocomplete: "off",
      oninput: () => this.suggest(),
      onkeydown: event => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.takeOffered(true);
      },
    });
    this.file = h("input", {
      type: "file",
      accept: "image/*,.npy",
      "data-testid": "file",
      onchange: () => this.upload(),
    });
    this.chipBox = h("div", { class: "wbx-chips", "data-testid": "chips" });
    this.box = this.form();
  }

  /** @type {(id: string, label: string, placeholder: string) => HTMLInputElement} */
  field(id, label, placeholder) {
    return h("input", {
      type: "text",
      "data-testid": id,
      dir: "auto",
      autocomplete: "off",
      "aria-label": label,
      placeholder,
      oninput: () => this.view.exchange.askLater(),
    });
  }

  form() {
    const { view } = this;
    const extras = h(
      "span",
      { class: "wbx-extras", id: `${view.name}-extras` },
      this.plus,
      this.minus,
      this.fromData,
      this.offered,
      h("label", { class: "wbx-file" }, h("span", {}, "+ image or .npy"), this.file),
    );
    /** @type {HTMLButtonElement} */
    const unfold = h(
      "button",
      {
        type: "button",
        class: "wbx-unfold",
        "data-testid": "unfold",
        "aria-label": "more terms",
        "aria-expanded": "false",
        "aria-controls": extras.id,
        onclick: () => unfold.setAttribute("aria-expanded", String(extras.classList.toggle("wbx-unfolded"))),
      },
      "±",
    );
    return h(
      "form",
      {
        class: "wbx-bar",
        role: "search",
        onsubmit: event => {
          event.preventDefault();
          view.exchange.ask();
        },
      },
      this.seeks,
      this.text,
      h("button", { type: "submit", class: "wbx-main", "data-testid": "search" }, "Search"),
      unfold,
      extras,
    );
  }

  /** @returns {Term[]} */
  terms() {
    /** @type {(input: HTMLInputElement, sign: number) => Term[]} */
    const typed = (input, sign) =>
      input.value.trim() ? [{ kind: "text", value: input.value.trim(), sign, name: "" }] : [];
    const chips = this.chips.map(({ kind, value, sign, name }) => ({ kind, value, sign, name }));
    const others = [...chips, ...typed(this.plus, 1), ...typed(this.minus, -1)];
    // a panel words a sentence alone; beside other terms it is asked as it stands in the box
    if (this.unedited !== null && !others.length) return [this.of(this.unedited)];
    const text = this.text.value.trim();
    return text ? [...chips, this.of(text), ...others.slice(chips.length)] : others;
  }

  /**
   * A sentence as a term: the caption of the data that it is, or words.
   * @param {string} text
   * @returns {Term}
   */
  of(text) {
    return this.caption?.name === text ? this.caption : { kind: "text", value: text, sign: 1, name: "" };
  }

  /** A new sentence is worded by no panel. */
  forgetEdits() {
    this.view.panels.forget();
    this.unedited = null;
  }

  /**
   * A panel words the sentence: the unedited one is kept, and the box is to hold what is asked.
   * @param {boolean} still whether it does, or takes all of its edits back
   */
  reworded(still) {
    this.unedited ??= this.text.value.trim();
    if (still) return;
    this.text.value = this.typed = this.unedited;
    this.unedited = null;
  }

  /**
   * Hold the sentence that was asked.
   * @param {string} asked
   */
  hold(asked) {
    if (this.unedited !== null && asked) this.text.value = this.typed = asked;
  }

  /**
   * Put a word in the place of one that was typed.
   * @param {string} word
   * @param {string} other
   */
  reword(word, other) {
    this.forgetEdits();
    for (const field of [this.text, this.plus, this.minus]) field.value = reworded(field.value, word, other);
    this.typed = this.text.value;
    this.text.focus();
    this.view.exchange.ask();
  }

  suggest() {
    if (this.takeOffered(false)) return;
    clearTimeout(this.suggesting);
    const ask = () => this.view.exchange.send({ kind: "suggest", text: this.fromData.value });
    this.suggesting = setTimeout(ask, DEBOUNCE);
  }

  /**
   * Turn what was chosen of the list into a term.
   * @param {boolean} eager take the first of the list where none was chosen
   */
  takeOffered(eager) {
    const chosen = this.found.find(one => one.name === this.fromData.value) ?? (eager ? this.found[0] : undefined);
    if (!chosen || !this.fromData.value) return false;
    this.fromData.value = "";
    this.offered.replaceChildren();
    this.add({ ...chosen, sign: 1 });
    return true;
  }

  /** @param {Term[]} found */
  offer(found) {
    this.found = found.map(one => ({ ...one, name: one.kind === "image" ? `image ${one.name}` : one.name }));
    this.offered.replaceChildren(...this.found.map(one => h("option", { value: one.name })));
  }

  async upload() {
    const file = this.file.files?.[0];
    if (file) this.view.exchange.send({ kind: "upload", name: file.name }, null, [await file.arrayBuffer()]);
    this.file.value = "";
  }

  /** @param {Term} term */
  add(term) {
    this.chips.push(term);
    this.drawChips();
    this.view.exchange.ask();
  }

  drawChips() {
    const { thumbnails } = this.view;
    /** @type {(change: () => void) => () => void} */
    const then = change => () => {
      change();
      this.drawChips();
      this.view.exchange.ask();
    };
    /** @type {(label: string, sign: string, change: () => void) => HTMLButtonElement} */
    const button = (label, sign, change) =>
      h("button", { type: "button", "aria-label": label, onclick: then(change) }, sign);
    /** @type {(term: Term, i: number) => HTMLElement} */
    const chip = (term, i) =>
      h(
        "span",
        { class: "wbx-chip", "data-testid": "chip" },
        button(`add or subtract ${term.name}`, term.sign > 0 ? "+" : "−", () => {
          term.sign = -term.sign;
        }),
        term.thumbnail && thumbnails.urls.has(term.thumbnail) ? thumbnails.image(term.thumbnail, "") : null,
        words(term.name, "span", { class: "wbx-caption" }),
        button(`remove ${term.name}`, "✕", () => this.chips.splice(i, 1)),
      );
    this.chipBox.replaceChildren(...this.chips.map(chip));
  }

  /**
   * Put other terms in the place of all.
   * @param {string} text
   * @param {Term[]} chips
   * @param {Seeks} seeks
   * @param {number | null} row of the caption of the data that the text is
   */
  replace(text, chips, seeks, row = null) {
    this.text.value = this.typed = text;
    this.unedited = null;
    /** @type {Term | null} */
    this.caption = row === null ? null : { kind: "caption", value: row, sign: 1, name: text.trim() };
    this.plus.value = this.minus.value = "";
    this.seeks.value = seeks;
    this.chips = chips;
    this.drawChips();
  }
}

/** How the answers are looked at: the view, how many, how large, as a list or a grid. */
export class ViewBar {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    const { config } = view;
    /** Whether somebody chose the size of the images. */
    this.sized = false;
    /** What was asked for last. */
    this.askedK = String(config.k);
    this.views = h(
      "div",
      { class: "wbx-group", role: "group", "aria-label": "View" },
      this.choice("gallery", "Gallery"),
      this.choice("queries", "Queries"),
      config.runs.length > 1 ? this.choice("differ", "Disagreements") : null,
      this.choice("pins", "Pins"),
    );
    // JupyterLab stops Enter in a field of a cell's output, which then tells of no change; elsewhere leaving the
    // field tells of it again
    const asked = () => {
      if (this.k.value !== this.askedK) view.exchange.ask();
    };
    this.k = h("input", {
      type: "number",
      min: 1,
      max: config.sizes.images,
      value: config.k,
      class: "wbx-k",
      "data-testid": "k",
      onchange: asked,
      onkeydown: event => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        asked();
      },
    });
    this.size = h("input", {
      type: "range",
      min: 70,
      max: 340,
      step: 10,
      value: 150,
      "data-testid": "size",
      oninput: () => {
        this.sized = true;
        view.root.style.setProperty("--wbx-size", `${this.size.value}px`);
        view.gallery.fit();
      },
    });
    const showSide = () => {
      view.side = !view.sideShown;
      view.fit();
    };
    const side = { type: "button", "data-testid": "side", "aria-controls": `${view.name}-side`, onclick: showSide };
    this.sideButton = h("button", side, "Panels");
    const turn = () => {
      view.layout = view.gallery.layout === "grid" ? "list" : "grid";
      view.draw();
    };
    this.layoutButton = h("button", { type: "button", "data-testid": "layout", onclick: turn });
    this.only = h("input", { type: "checkbox", "data-testid": "only-selected", onchange: () => view.exchange.ask() });
    this.onlyCount = h("span", {});
    this.onlyLabel = h("label", { class: "wbx-check", hidden: true }, this.only, this.onlyCount);
    /** @type {(label: string, control: HTMLElement) => HTMLElement} */
    const inline = (label, control) => h("label", { class: "wbx-inline" }, h("span", {}, label), control);
    this.box = h(
      "div",
      { class: "wbx-bar" },
      this.sideButton,
      this.views,
      config.runs.length > 1 ? this.steps() : null,
      inline("k", this.k),
      inline("size", this.size),
      this.layoutButton,
      this.onlyLabel,
    );
  }

  /**
   * @param {string} name
   * @param {string} label
   */
  choice(name, label) {
    const attributes = { "data-view": name, "data-testid": `view-${name}`, "aria-pressed": String(name === "gallery") };
    return h("button", { type: "button", ...attributes, onclick: () => this.view.show(name) }, label);
  }

  steps() {
    const { differ } = this.view;
    /** @type {(label: string, by: number, name: string) => HTMLElement} */
    const step = (label, by, name) => {
      const testid = by > 0 ? "next-differs" : "last-differs";
      const title = `${name} (key ${by > 0 ? "n" : "N"})`;
      const attributes = { type: "button", "data-testid": testid, "aria-label": name, title };
      return h("button", { ...attributes, onclick: () => differ.go(by) }, label);
    };
    return h(
      "div",
      { class: "wbx-group", role: "group", "aria-label": "Disagreements" },
      step("‹", -1, "last disagreement"),
      step("Next disagreement ›", 1, "next disagreement"),
      differ.told,
    );
  }

  /** @param {string} name */
  press(name) {
    this.views.querySelectorAll("button").forEach(button => {
      button.setAttribute("aria-pressed", String(button.dataset.view === name));
    });
  }
}

/**
 * Where answers are exported to, and the keys.
 * @param {View} view
 */
export function footer(view) {
  const label = "File to write: .csv, .json or .parquet";
  const path = h("input", { type: "text", value: "explorer.csv", "data-testid": "path", "aria-label": label });
  const write = () => view.exchange.send({ kind: "export", path: path.value.trim() });
  return h(
    "div",
    { class: "wbx-footer" },
    h("label", { class: "wbx-inline" }, h("span", {}, "Export to"), path),
    h("button", { type: "button", "data-testid": "export", onclick: write }, "Export"),
    h(
      "p",
      { class: "wbx-keys" },
      "Keys: ",
      KEYS.map(([key, does]) => h("span", {}, h("kbd", {}, key), ` ${does} `)),
    ),
  );
}
