// What stands beside the answers: the scene graph that can be edited, the way to the root, the effect of words. Each
// draws the view's answer into a box of its own.

import { elements, h, heading, number, signed, table, unique, words } from "./parts.js";

/** @import { Change, Difference, Edit, Graph, Part, Step } from "./types.d.ts" */
/** @import { View } from "./explorer.js" */

/** @type {Part[]} */
export const PARTS = ["objects", "attributes", "relations"];

/**
 * A part of a graph in words: what stands before the word that can be swapped, the word, and what stands after it.
 * @param {Graph} graph
 * @param {Part} part
 * @param {number} index
 * @returns {[string, string, string]}
 */
export function phrase(graph, part, index) {
  const { objects, attributes, relations } = graph;
  if (part === "objects") return ["", objects[index], ""];
  if (part === "attributes") return ["", attributes[index][1], ` ${objects[attributes[index][0]]}`];
  const [subject, word, object] = relations[index];
  return [`${objects[subject]} `, word, ` ${objects[object]}`];
}

/** The scene graph of the question: drop or swap a part and see what that does. */
export class GraphPanel {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.box = h("div");
    /** @type {Change[]} */
    this.changes = [];
    /** @type {Record<string, string[]>} */
    this.vocabulary = {};
  }

  draw() {
    const { graph, edits } = this.view.drawn,
      { name } = this.view;
    if (!graph) {
      this.box.replaceChildren(
        h("p", { class: "wbx-dim" }, "Only a question that is a single text has a scene graph to edit."),
      );
      return;
    }
    const lists = PARTS.map(part =>
      h(
        "datalist",
        { id: `${name}-${part}` },
        (this.vocabulary[part] || []).map(word => h("option", { value: word })),
      ),
    );
    const groups = PARTS.filter(part => graph[part].length).map(part =>
      h(
        "div",
        { class: "wbx-parts", role: "group", "aria-label": part },
        h("span", { class: "wbx-dim" }, part),
        [...graph[part].keys()].map(index => this.part(graph, part, index)),
      ),
    );
    const button = (/** @type {string} */ testid, /** @type {string} */ label, /** @type {() => void} */ change) =>
      h(
        "button",
        {
          type: "button",
          "data-testid": testid,
          disabled: !this.changes.length,
          onclick: () => {
            change();
            this.view.query.edit();
            this.view.exchange.ask();
          },
        },
        label,
      );
    this.box.replaceChildren(
      ...lists,
      ...groups,
      h(
        "p",
        {},
        button("undo", "Undo", () => this.changes.pop()),
        " ",
        button("reset", "Reset", () => {
          this.changes = [];
        }),
        " ",
        h("span", { class: "wbx-dim" }, this.view.ofWatched("Scores and ranks of")),
      ),
      this.edits(edits),
    );
  }

  /**
   * @param {Graph} graph
   * @param {Part} part
   * @param {number} index
   */
  part(graph, part, index) {
    const [before, word, after] = phrase(graph, part, index);
    let done = false;
    const change = (/** @type {string} */ to) => {
      if (done) return;
      done = true;
      this.changes.push({ part, index, word: to });
      this.view.query.edit();
      this.view.exchange.ask();
    };
    const swap = () => {
      const to = input.value.trim();
      if (to && to !== word) change(to);
    };
    /** @type {HTMLInputElement} */
    const input = h("input", {
      type: "text",
      value: word,
      list: `${this.view.name}-${part}`,
      "aria-label": `another word for ${word}`,
      "data-testid": `swap-${part}-${index}`,
      autocomplete: "off",
      size: Math.max(4, Math.min(24, word.length + 2)),
      onfocus: () => input.select(),
      onchange: swap,
      // with a list open, Enter closes it and tells of no change
      onkeydown: event => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        swap();
      },
    });
    const only = part === "objects" && graph.objects.length < 2;
    return h(
      "span",
      { class: "wbx-part" },
      before ? words(before) : null,
      input,
      after ? words(after) : null,
      only
        ? null
        : h(
            "button",
            {
              type: "button",
              "aria-label": `drop ${word}`,
              "data-testid": `drop-${part}-${index}`,
              onclick: () => change(""),
            },
            "✕",
          ),
    );
  }

  /** @param {Edit[]} edits */
  edits(edits) {
    if (!edits.length)
      return h("p", { class: "wbx-dim" }, "Scores and ranks of edits are shown when the question asks for images.");
    const remade = edits.find(edit => edit.kind === "remade") ?? edits[0];
    const cell = (/** @type {Edit} */ edit, /** @type {number} */ run) => {
      const change = edit.scores[run] - remade.scores[run];
      const compared = ["edited", "drop"].includes(edit.kind);
      const ranks =
        compared && edit.ranks[run] !== remade.ranks[run]
          ? `#${remade.ranks[run]} → #${edit.ranks[run]}`
          : `#${edit.ranks[run]}`;
      return h(
        "td",
        {},
        h("span", { class: "wbx-num" }, compared ? signed(change) : number(edit.scores[run])),
        " ",
        h("b", {}, ranks),
      );
    };
    const line = (/** @type {Edit} */ edit) =>
      h(
        "tr",
        { class: `wbx-${edit.kind}`, "data-testid": `edit-${edit.kind}` },
        words(edit.label, "th", { scope: "row" }),
        words(edit.sentence, "td"),
        this.view.drawn.runs.map((_, run) => cell(edit, run)),
      );
    return h(
      "div",
      {},
      table("Edits", [heading("What"), heading("Sentence"), ...this.view.runHeads()], edits.map(line)),
      h(
        "p",
        { class: "wbx-dim" },
        "Scores are compared with the sentence rewritten from the unedited graph, so that a change of wording alone " +
          "does not count.",
      ),
    );
  }
}

/** The way from the question to the root, the embedding of the empty text. */
export class WayPanel {
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
        view.exchange.askLater();
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
        "The root is the embedding of the empty text, the most generic query. The slider moves the query along the " +
          "sphere towards it, and the results follow. The table shows the nearest image, the nearest caption and its " +
          "cosine at each step.",
      ),
      this.steps,
    );
  }

  /** @param {number} walk */
  set(walk) {
    this.walk = walk;
    this.slider.value = String(walk);
    this.mark();
  }

  draw() {
    const { way, runs } = this.view.drawn,
      { pictures } = this.view;
    const go = (/** @type {number} */ walk) => {
      this.set(walk);
      this.view.exchange.ask();
    };
    const head = (/** @type {number} */ walk) =>
      h(
        "th",
        { scope: "row", "data-walk": walk },
        h("button", { type: "button", class: "wbx-link", onclick: () => go(walk) }, `${Math.round(100 * walk)} %`),
      );
    const cell = (/** @type {Step} */ step) =>
      h(
        "td",
        { "data-walk": step.walk },
        pictures.image(step.thumbnail, `image ${step.image}`),
        words(step.text, "span", { class: "wbx-caption", title: step.text }),
        h(
          "span",
          { class: "wbx-dim" },
          `${step.level === null ? "" : `level ${step.level}, `}${number(step.cosine, 2)}`,
        ),
      );
    const line = (/** @type {number} */ walk) =>
      h("tr", {}, head(walk), way.filter(step => step.walk === walk && step.run < runs.length).map(cell));
    this.steps.replaceChildren(
      table(
        "Steps of the way",
        [heading("Way"), ...this.view.runHeads()],
        unique(way.map(step => step.walk)).map(line),
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
}

/** How far the score falls without each word. */
export class WordsPanel {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.box = h("div");
  }

  draw() {
    const found = this.view.drawn.words;
    if (!found.length) {
      this.box.replaceChildren(h("p", { class: "wbx-dim" }, "Ask for images with a text of at least two words."));
      return;
    }
    const most = Math.max(1e-9, ...found.flatMap(word => word.effects.map(Math.abs)));
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
    const line = (/** @type {any} */ word) =>
      h("tr", {}, words(word.text, "th", { scope: "row" }), word.effects.map(bar));
    this.box.replaceChildren(
      h(
        "p",
        { class: "wbx-dim" },
        "How far the score falls when a word is left out; striped bars are words without which it rises. " +
          `These are not attention weights. ${this.view.ofWatched("Scores of")}`,
      ),
      table("Effect of each word", [heading("Word"), ...this.view.runHeads()], found.map(line)),
    );
  }
}
