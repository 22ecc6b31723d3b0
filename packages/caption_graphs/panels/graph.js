// The scene graph of the question: drop or swap a part and see what that does.

import { captionOf, h, heading, number, signed, table, words } from "../../../workbench/views/explorer/parts.js";

/** @import { Page, Term, View } from "../../../workbench/views/explorer/types.d.ts" */
/** @import { Change, Edit, Graph, Part } from "./types.d.ts" */

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

/**
 * @param {Edit} edit
 * @param {Edit} base
 * @param {number} run
 */
export function change(edit, base, run) {
  const by = edit.scores[run] - base.scores[run],
    places = base.ranks[run] - edit.ranks[run];
  const told = places ? `${Math.abs(places)} ${places > 0 ? "up" : "down"}, ` : "";
  return h(
    "span",
    { class: by < 0 ? "wbt-down" : by > 0 ? "wbt-up" : "" },
    `${signed(by)}, ${told}#${edit.ranks[run]}`,
  );
}

/** The scene graph of the question: drop or swap a part and see what that does. */
export default class GraphPanel {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.box = h("div");
    /** @type {Change[]} */
    this.changes = [];
  }

  settings() {
    return { changes: [...this.changes] };
  }

  /**
   * Edits belong to the sentence, whether the panel is open or not.
   * @param {Term[]} terms
   */
  applies(terms) {
    return this.changes.length > 0 && terms.length === 1 && ["text", "caption"].includes(terms[0].kind);
  }

  /** @param {{ changes: Change[] }} settings */
  restore({ changes }) {
    this.changes = changes;
  }

  forget() {
    this.changes = [];
  }

  /** Ask for the sentence as it is edited now. */
  ask() {
    this.view.reword(this.changes.length > 0);
  }

  /** @param {{ graph: Graph | null, edits: Edit[], vocabulary: Record<string, string[]> }} data */
  draw({ graph, edits, vocabulary }) {
    const { name } = this.view;
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
        vocabulary[part].map(word => h("option", { value: word })),
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
            this.ask();
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
      this.ask();
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

  /**
   * @param {{ edits: Edit[] }} data
   * @param {Page} page
   */
  static page({ edits }, page) {
    const { runs, items, watched } = page.answer;
    if (!edits.length) return "";
    const base = edits.find(edit => edit.kind === "remade") || edits[0];
    const lines = edits.map(edit =>
      h(
        "tr",
        {},
        words(edit.label, "th", { scope: "row" }),
        words(edit.sentence, "td"),
        runs.map((_, run) =>
          h(
            "td",
            {},
            edit === base || edit.kind === "asked"
              ? `${number(edit.scores[run])}, #${edit.ranks[run]}`
              : change(edit, base, run),
          ),
        ),
      ),
    );
    const item = items.find(one => one.row === watched);
    const pin = () => item && page.pin(item);
    const what = item
      ? h(
          "p",
          {},
          "Score and rank of ",
          words(captionOf(item)),
          " ",
          h(
            "button",
            { type: "button", "data-testid": "static-watched", onclick: pin },
            page.pins.has(page.pinKey(item)) ? "unpin it" : "pin it",
          ),
        )
      : null;
    const caption = "Change of score and rank, compared with the sentence rewritten from the unedited graph";
    return page.part(
      "Counterfactual edits",
      "What if the question said something else? Edits of its scene graph",
      what,
      page.sheet(caption, ["edit", "sentence", ...runs], lines, "static-edits"),
    );
  }
}
