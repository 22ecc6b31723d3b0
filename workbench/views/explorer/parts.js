// The retrieval explorer in the browser. It asks the kernel by messages and draws what comes back; it knows no other place.
// Every string of the data reaches the page as text (textContent or a text node), never as markup.
// This file and those beside it are one module: Python puts them behind one another (SCRIPTS in explorer.py).

const DEBOUNCE = 80;
const SHAPES = { own: "●", relevant: "◆", not: "✕", unknown: "○" };
const MARK_NAMES = { own: "own", relevant: "relevant", not: "not relevant", unknown: "not judged" };
const FOCUSED = new Set(["button", "input", "select", "summary"]);

/** An element with attributes, listeners (`on…`) and children; strings become text nodes. */
function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  // JupyterLab would take arrows, "p" and "x" for commands on cells; it looks for this mark on the focused element itself.
  if (FOCUSED.has(tag) || "tabindex" in attributes) made.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (["value", "checked", "disabled", "open", "hidden"].includes(name)) made[name] = value;
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return made;
}

/** Words of the data: their direction is their own, and they do not turn what stands beside them. */
function words(text, tag = "span", attributes = {}) {
  return h(tag, { dir: "auto", ...attributes, class: `wbx-words ${attributes.class || ""}`.trim() }, text);
}

const number = (value, digits = 3) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−"));
const counted = value => value.toLocaleString("en");
const signed = (value, digits = 3) => (value > 0 ? "+" : "") + number(value, digits);
const place = rank => (rank === null || rank === undefined ? "–" : `#${rank}`);
const unique = values => [...new Set(values)];

function shape(mark) {
  return h("span", { class: `wbx-shape wbx-${mark}`, "aria-hidden": "true" }, SHAPES[mark]);
}

/** A table that scrolls by itself; `heads` and the cells of `lines` are elements. */
function table(name, heads, lines, attributes = {}) {
  return h("div", { class: "wbx-scroll", tabindex: 0, role: "region", "aria-label": name },
    h("table", { class: "wbx-table", ...attributes }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, lines)));
}

const heading = name => h("th", { scope: "col" }, name);

/** Thumbnails of one model in this page: each arrives once and stays. */
class Pictures {
  constructor() {
    this.page = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`;
    this.urls = new Map();
  }

  keep(keys, buffers) {
    keys.forEach((key, i) => { if (!this.urls.has(key)) this.urls.set(key, within(buffers[i])); });
  }

  image(key, alt, attributes = {}) {
    return h("img", { src: this.urls.get(key), alt, decoding: "async", draggable: "false", ...attributes });
  }
}

const address = buffer => URL.createObjectURL(new Blob([buffer]));

/** A thumbnail as an address that holds it: a page decodes those in half the time that it needs for addresses of blobs. */
function within(buffer) {
  const bytes = new Uint8Array(buffer.buffer ?? buffer, buffer.byteOffset ?? 0, buffer.byteLength);
  return `data:image/jpeg;base64,${btoa(String.fromCharCode(...bytes))}`;
}
