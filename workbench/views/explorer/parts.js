// The retrieval explorer in the browser. It asks the kernel by messages and draws what comes back; it knows no other
// place. Every string of the data reaches the page as text (textContent or a text node), never as markup.
// This file and those beside it become one module: Python puts them behind one another (SCRIPTS in explorer.py).

/** @import { Attributes, Child, Item, Mark, PanelClass } from "./types.d.ts" */

/**
 * The panels of packages by name; Python puts their scripts behind this one.
 * @type {Record<string, PanelClass>}
 */
export const PANELS = {};
export const DEBOUNCE = 80;
/** @type {Record<Mark, string>} */
export const SHAPES = { own: "●", relevant: "◆", not: "✕", unknown: "○" };
/** @type {Record<Mark, string>} */
export const MARK_NAMES = { own: "own", relevant: "relevant", not: "not relevant", unknown: "not judged" };
export const FOCUSED = new Set(["button", "input", "select", "summary"]);
export const PROPERTIES = ["value", "checked", "disabled", "open", "hidden"];

/**
 * An element with attributes, listeners (`on…`) and children; strings become text nodes.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {(Child | Child[])[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  // JupyterLab would take arrows, "p" and "x" for commands on cells; it looks for this mark on the focused element
  if (FOCUSED.has(tag) || "tabindex" in attributes) made.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (PROPERTIES.includes(name)) Object.assign(made, { [name]: value });
    else if (value !== undefined && value !== null && value !== false)
      made.setAttribute(name, value === true ? "" : String(value));
  }
  /** @type {(child: Child) => child is Node | string} */
  const there = child => child !== null && child !== undefined && child !== false;
  made.append(...children.flat().filter(there));
  return made;
}

/**
 * Words of the data: their direction is their own, and they do not turn what stands beside them.
 * @param {string} text
 * @param {keyof HTMLElementTagNameMap} tag
 * @param {Attributes} attributes
 */
export function words(text, tag = "span", attributes = {}) {
  return h(tag, { dir: "auto", ...attributes, class: `wbx-words ${attributes.class || ""}`.trim() }, text);
}

/**
 * The elements below another one that a selector names.
 * @param {ParentNode} parent
 * @param {string} selector
 */
export function elements(parent, selector) {
  return [.../** @type {NodeListOf<HTMLElement>} */ (parent.querySelectorAll(selector))];
}

/** @type {(value: number | null | undefined, digits?: number) => string} */
export const number = (value, digits = 3) =>
  value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−");
/** @type {(value: number) => string} */
export const counted = value => value.toLocaleString("en");
/** @type {(value: number, digits?: number) => string} */
export const signed = (value, digits = 3) => (value > 0 ? "+" : "") + number(value, digits);
/** @type {(rank: number | null | undefined) => string} */
export const place = rank => (rank === null || rank === undefined ? "–" : `#${rank}`);
/** @type {<T>(values: T[]) => T[]} */
export const unique = values => [...new Set(values)];
/**
 * The values without one that is among them, or with one that is not.
 * @type {<T>(values: T[], value: T) => T[]}
 */
export const toggled = (values, value) =>
  values.includes(value) ? values.filter(other => other !== value) : [...values, value];

/**
 * A text with another word in the place of one, wherever that stands alone.
 * @type {(text: string, word: string, other: string) => string}
 */
export const reworded = (text, word, other) =>
  text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${word}(?![\\p{L}\\p{N}])`, "giu"), other);

/** @param {Mark} mark */
export function shape(mark) {
  return h("span", { class: `wbx-shape wbx-${mark}`, "aria-hidden": "true" }, SHAPES[mark]);
}

/**
 * A table that scrolls by itself.
 * @param {string} name
 * @param {Child[]} heads elements
 * @param {Child[]} lines elements
 * @param {Attributes} attributes
 */
export function table(name, heads, lines, attributes = {}) {
  return h(
    "div",
    { class: "wbx-scroll", tabindex: 0, role: "region", "aria-label": name },
    h("table", { class: "wbx-table", ...attributes }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, lines)),
  );
}

/**
 * What an item is called: its first caption, or its id.
 * @param {Item} item
 */
export const captionOf = item => item.captions[0] || item.id;

/** @param {string} name */
export const heading = name => h("th", { scope: "col" }, name);

/** Thumbnails of one model in this page: each arrives once and stays. */
export class Thumbnails {
  constructor() {
    this.page = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`;
    /** @type {Map<string, string>} */
    this.urls = new Map();
  }

  /**
   * @param {string[]} keys
   * @param {DataView[]} buffers
   */
  keep(keys, buffers) {
    keys.forEach((key, i) => {
      if (!this.urls.has(key)) this.urls.set(key, within(buffers[i]));
    });
  }

  /**
   * @param {string} key
   * @param {string} alt
   */
  image(key, alt) {
    return h("img", { src: this.urls.get(key), alt, decoding: "async", draggable: "false" });
  }
}

/** @param {DataView} buffer */
export const address = buffer => URL.createObjectURL(new Blob([/** @type {DataView<ArrayBuffer>} */ (buffer)]));

/**
 * A thumbnail as an address that holds it: a page decodes those in half the time that it needs for addresses of blobs.
 * @param {DataView} buffer
 */
export function within(buffer) {
  const bytes = new Uint8Array(buffer.buffer ?? buffer, buffer.byteOffset ?? 0, buffer.byteLength);
  return `data:image/jpeg;base64,${btoa(String.fromCharCode(...bytes))}`;
}

/**
 * How many of some answers are right, in words.
 * @param {Mark[]} marks
 */
export function correct(marks) {
  const right = marks.filter(mark => mark === "own" || mark === "relevant").length;
  const open = marks.filter(mark => mark === "unknown").length;
  if (open === marks.length) return marks.length ? "not judged" : "";
  return `${right} of ${marks.length} right${open ? `, ${open} not judged` : ""}`;
}

/**
 * The colour of a change of rank: green where a right item rose, red where it fell or a wrong one rose.
 * @param {Mark} mark
 * @param {number} change places that it rose
 */
export function better(mark, change) {
  if (!change || mark === "unknown") return "same";
  if (mark === "not") return change > 0 ? "down" : "same";
  return change > 0 ? "up" : "down";
}
