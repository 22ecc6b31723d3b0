// Below the answers of the static twin: the way to the root, edits of the question, and the effect of each word.

import { h, number, signed, words } from "./parts.js";

/** @import { Child, Edit, Item, Step } from "./types.d.ts" */
/** @import { Twin } from "./twin.js" */

/**
 * A table that scrolls by itself, with its caption.
 * @param {string} caption
 * @param {string[]} heads
 * @param {Child[]} lines
 * @param {string} testid
 */
export function sheet(caption, heads, lines, testid) {
  return h(
    "div",
    { class: "wbt-scroll", tabindex: "0", role: "region", "aria-label": caption, "data-testid": testid },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map(head => words(head, "th", { scope: "col" })),
        ),
      ),
      h("tbody", {}, lines),
    ),
  );
}

/** @param {Item} item */
export const captionOf = item => item.captions[0] || item.id;

/** @param {Twin} twin */
export function walk(twin) {
  const { way, runs } = twin.answer;
  if (!way.length) return "";
  const steps = [...new Set(way.map(step => step.walk))].sort((a, b) => a - b);
  const shown = h("div", { class: "wbt-columns", "data-testid": "twin-way" });
  const told = h("output", {});
  const slider = h("input", {
    type: "range",
    min: 0,
    max: steps.length - 1,
    step: 1,
    value: twin.step,
    "data-testid": "twin-walk",
  });
  const move = () => {
    twin.step = Number(slider.value);
    const share = `${Math.round(100 * steps[twin.step])} % of the way to the root`;
    told.textContent = share;
    slider.setAttribute("aria-valuetext", share);
    shown.replaceChildren(
      ...runs.map((run, i) =>
        nearest(
          twin,
          run,
          way.find(step => step.run === i && step.walk === steps[twin.step]),
        ),
      ),
    );
  };
  slider.addEventListener("input", move);
  move();
  return h(
    "section",
    { class: "wbt-part", "aria-label": "Walk to the root" },
    words("Walk to the root: from specific to generic", "h3"),
    h(
      "p",
      {},
      "The root is the embedding of the empty text, the most generic query. Each step shows the image and the " +
        "caption nearest to the point on the way.",
    ),
    h("label", {}, h("span", {}, "walk "), slider, " ", told),
    shown,
  );
}

/**
 * @param {Twin} twin
 * @param {string} run
 * @param {Step | undefined} step
 */
export function nearest(twin, run, step) {
  if (!step) return h("div", {}, words(run, "h4"), "no walk was made for this run");
  const level = step.level === null ? "" : `, level ${step.level}`;
  return h(
    "div",
    { class: "wbt-column" },
    words(run, "h4"),
    h(
      "div",
      { class: "wbt-card" },
      twin.picture(step.thumbnail, `nearest image: ${step.image}`),
      h(
        "span",
        { class: "wbt-about" },
        h("span", { class: "wbt-top" }, `cosine ${number(step.cosine)}${level}`),
        words(step.text),
      ),
    ),
  );
}

/** @param {Twin} twin */
export function edits(twin) {
  const { edits, runs, items, watched } = twin.answer;
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
  return h(
    "section",
    { class: "wbt-part", "aria-label": "Counterfactual edits" },
    words("What if the question said something else? Edits of its scene graph", "h3"),
    item
      ? h(
          "p",
          {},
          "Score and rank of ",
          words(captionOf(item)),
          " ",
          h(
            "button",
            { type: "button", "data-testid": "twin-watched", onclick: () => twin.pin(item) },
            twin.pins.has(twin.pinKey(item)) ? "unpin it" : "pin it",
          ),
        )
      : null,
    sheet(
      "Change of score and rank, compared with the sentence rewritten from the unedited graph",
      ["edit", "sentence", ...runs],
      lines,
      "twin-edits",
    ),
  );
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

/** @param {Twin} twin */
export function effects(twin) {
  const { words: found, runs } = twin.answer;
  if (!found.length) return "";
  const lines = found.map(word =>
    h(
      "tr",
      {},
      words(word.text, "th", { scope: "row" }),
      word.effects.map(effect => h("td", {}, signed(effect))),
    ),
  );
  return h(
    "section",
    { class: "wbt-part", "aria-label": "Effect of each word" },
    words("How much each word matters", "h3"),
    sheet("Fall of the score when the word is left out", ["word", ...runs], lines, "twin-words"),
  );
}
