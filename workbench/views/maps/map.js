// The widget of the maps: what its panels share.

import { Colours } from "./colours.js";
import { Panel } from "./panel.js";
import { element, fitted, KEYS, LISTED, typed } from "./shapes.js";

/** @import { Config, Model, Run } from "./types.d.ts" */

/**
 * The rows of the captions of each image.
 * @param {Int32Array} own the image of each row
 * @param {number} images
 */
export function captionsOf(own, images) {
  /** @type {number[][]} */
  const rows = Array.from({ length: images }, () => []);
  for (let row = images; row < own.length; row += 1) rows[own[row]].push(row);
  return rows;
}

/** The whole widget: tools, panels, legend, the card of the current item, and the list of what is selected. */
export class MapView {
  /**
   * @param {Model} model
   * @param {HTMLElement} el
   */
  constructor(model, el) {
    this.model = model;
    /** @type {Config} */
    const config = model.get("config");
    this.config = config;
    this.size = config.size;
    this.images = config.images;
    /** The current row, -1 = none. */
    this.current = -1;
    this.lines = true;
    this.tool = "pan";
    this.own = typed(Int32Array, config.own);
    /** @type {Run[]} */
    this.maps = config.maps.map(({ name, about, points, near }) => ({
      name,
      about,
      xy: fitted(typed(Float32Array, points)),
      near: typed(Int32Array, near),
    }));
    this.selected = new Uint8Array(this.size);
    /** @type {number[]} */
    this.chosen = [];
    /** @type {Map<number, string>} */
    this.thumbnails = new Map();
    this.captionsOf = captionsOf(this.own, this.images);
    /** @type {{ text: string, near: number[][] } | null} */
    this.question = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.asking = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.inking = undefined;
    this.root = element("div", { className: "wbm", dataset: { testid: "embedding-map", lmSuppressShortcuts: "true" } });
    this.colours = new Colours(config, () => this.redraw());
    this.panels = this.maps.map((_, number) => new Panel(this, number));
    this.search = element("input", {
      type: "search",
      // JupyterLab stops Enter in the fields of a cell's output before a form could hear of it, not before the field
      onkeydown: event => {
        if (event.key === "Enter" && !event.isComposing) this.find();
      },
      placeholder: "find images and captions by a sentence",
      dataset: { testid: "map-search" },
      aria: { label: "Find images and captions by a sentence" },
    });
    this.tools = this.toolbar();
    this.card = element("div", { className: "wbm-card", hidden: true, dataset: { testid: "map-card" } });
    this.status = element("p", {
      className: "wbm-status",
      dataset: { testid: "map-status" },
      aria: { role: "status" },
    });
    const selected = { dataset: { testid: "map-list" }, aria: { label: "Selected items" } };
    this.list = element("ul", { className: "wbm-list", ...selected });
    const button = element("button", { type: "button", textContent: "Find", onclick: () => this.find() });
    const keys = element("summary", { textContent: "Keys" });
    this.root.append(
      element("div", { className: "wbm-search", aria: { role: "search" } }, this.search, button),
      this.tools,
      element("div", { className: "wbm-panels" }, ...this.panels.map(panel => panel.el)),
      this.colours.legend,
      element("details", {}, keys, element("p", { textContent: KEYS })),
      this.status,
      this.list,
      this.card,
    );
    this.colours.explain();
    el.append(this.root);
    /** @type {[string, (message: any) => void][]} */
    this.listeners = [
      ["change:selected_rows", () => this.take(model.get("selected_rows"))],
      ["change:question", () => this.takeQuestion()],
      ["msg:custom", message => this.receive(message)],
    ];
    this.listeners.forEach(([name, listener]) => model.on(name, listener));
    this.resizing = new ResizeObserver(() => {
      this.panels.forEach(panel => panel.fit());
      this.redraw();
    });
    this.panels.forEach(panel => this.resizing.observe(panel.frame));
    // Rings and lines have the colour of the page's ink, which changes with the theme.
    this.theme = new MutationObserver(() => this.drawInNewInk(getComputedStyle(this.root).color, 100));
    const themes = ["data-jp-theme-name", "data-jp-theme-light"];
    this.theme.observe(document.body, { attributes: true, attributeFilter: themes });
    this.take(model.get("selected_rows") || []);
    this.takeQuestion();
  }

  /**
   * The theme's style sheet arrives some time after its name: draw now, and again when the colour has changed.
   * @param {string} before
   * @param {number} looks
   */
  drawInNewInk(before, looks) {
    this.drawOver();
    if (looks && getComputedStyle(this.root).color === before) {
      this.inking = setTimeout(() => this.drawInNewInk(before, looks - 1), 50);
    }
  }

  stop() {
    clearTimeout(this.inking);
    this.resizing.disconnect();
    this.theme.disconnect();
    this.listeners.forEach(([name, listener]) => this.model.off(name, listener));
  }

  toolbar() {
    const { colours, moved } = this.config;
    /** @type {(name: string, label: string) => HTMLElement} */
    const tool = (name, label) =>
      element("button", {
        type: "button",
        textContent: label,
        aria: { pressed: name === this.tool },
        onclick: () => this.use(name),
        dataset: { testid: `map-${name}`, tool: name },
      });
    /** @type {(label: string, action: () => void) => HTMLElement} */
    const plain = (label, action) => element("button", { type: "button", textContent: label, onclick: action });
    const paint = () => this.colours.paint(chooser.selectedIndex);
    /** @type {HTMLSelectElement} */
    const chooser = element("select", { dataset: { testid: "map-colour" }, onchange: paint });
    chooser.append(...colours.map(colour => element("option", { textContent: colour.name })));
    const draw = () => {
      this.lines = lines.checked;
      this.drawOver();
    };
    /** @type {HTMLInputElement} */
    const lines = element("input", { type: "checkbox", checked: true, onchange: draw });
    const farthest = moved ? [...typed(Int32Array, moved)] : [];
    return element(
      "div",
      { className: "wbm-tools", aria: { role: "toolbar", label: "Tools of the map" } },
      tool("pan", "Move"),
      tool("lasso", "Lasso"),
      plain("Zoom in", () => this.panels.forEach(panel => panel.zoomBy(1.4))),
      plain("Zoom out", () => this.panels.forEach(panel => panel.zoomBy(1 / 1.4))),
      plain("Whole map", () => this.panels.forEach(panel => panel.whole())),
      plain("Clear selection", () => this.select([])),
      element("label", {}, "Colour ", chooser),
      element("label", {}, lines, " show neighbours in the full space"),
      ...(moved ? [plain("Select items that moved most", () => this.select(farthest))] : []),
    );
  }

  /** A sentence is asked of the kernel: its place is marked, and what the first run finds is selected. */
  find() {
    const text = this.search.value.trim();
    if (text) this.model.send({ kind: "search", text });
  }

  takeQuestion() {
    const question = this.model.get("question");
    this.question = question?.near ? question : null;
    if (this.question) this.search.value = this.question.text;
    this.drawOver();
  }

  /** @param {string} name */
  use(name) {
    this.tool = name;
    this.tools.querySelectorAll("button").forEach(button => {
      if (button.dataset.tool) button.setAttribute("aria-pressed", String(button.dataset.tool === name));
    });
    this.root.classList.toggle("wbm-lasso", name === "lasso");
  }

  /**
   * @param {number} number
   * @param {number} row
   */
  neighbours(number, row) {
    const k = this.config.k;
    return row < 0 ? [] : [...this.maps[number].near.subarray(row * k, (row + 1) * k)];
  }

  redraw() {
    this.panels.forEach(panel => panel.draw());
  }

  drawOver() {
    this.panels.forEach(panel => panel.drawOver());
  }

  /**
   * Draw a panel in the next frame, once however often it is asked.
   * @param {Panel} panel
   */
  later(panel) {
    panel.waiting ||= requestAnimationFrame(() => {
      panel.waiting = 0;
      panel.draw();
    });
  }

  /**
   * @param {number} row
   * @returns {string}
   */
  words(row) {
    if (row >= this.images) return this.config.captions[row - this.images];
    return this.captionsOf[row].map(caption => this.words(caption)).join(" · ");
  }

  /** @param {number} row */
  kind(row) {
    return row < this.images ? "image" : "caption";
  }

  /**
   * Make a row the current one: ring, lines, card; -1 = none.
   * @param {number} row
   * @param {boolean} moved whether the mouse moved, and the card moves with it
   */
  point(row, panel = this.panels[0], moved = false) {
    if (row === this.current && (row < 0 || !moved)) return;
    const same = row === this.current;
    this.current = row;
    if (!same) this.drawOver();
    if (row < 0) {
      this.card.hidden = true;
      return;
    }
    if (!same) this.fill(row, panel);
    this.card.hidden = false;
    const box = this.root.getBoundingClientRect(),
      frame = panel.over.getBoundingClientRect(),
      [x, y] = panel.toScreen(row);
    const left = frame.left - box.left + x / panel.sharp + 14,
      top = frame.top - box.top + y / panel.sharp + 14;
    this.card.style.left = `${Math.max(4, left + 270 > box.width ? left - 288 : left)}px`;
    this.card.style.top = `${top}px`;
  }

  /**
   * @param {number} row
   * @param {Panel} panel
   */
  fill(row, panel) {
    const near = this.neighbours(panel.number, row).slice(0, 3);
    const line = (/** @type {string} */ head, /** @type {string} */ text, /** @type {string} */ className) =>
      element("div", { className }, element("b", { textContent: head }), element("bdi", { textContent: text }));
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.ask(row), 30);
    this.card.replaceChildren(
      this.thumbnail(row),
      line(`${this.kind(row)} `, this.words(row), "wbm-words"),
      line(`${this.colours.colour.name} `, this.colours.told(panel.number, row), ""),
      ...near.map((other, i) =>
        line(i ? "" : "nearest neighbours in the full space ", `${this.kind(other)}: ${this.words(other)}`, "wbm-near"),
      ),
    );
    if (panel.over === document.activeElement) this.say(`${this.kind(row)}: ${this.words(row)}`);
  }

  /**
   * The thumbnail of a row's image: asked of the kernel once the mouse rests, kept in the page.
   * @param {number} row
   * @param {string} alt empty where the words stand beside it
   */
  thumbnail(row, alt = `image: ${this.words(this.own[row])}`) {
    const image = this.own[row],
      src = this.thumbnails.get(image),
      dataset = { testid: "map-image", image: String(image) };
    return element("img", { className: "wbm-image", alt, dataset, hidden: !src, ...(src ? { src } : {}) });
  }

  /** @param {number} row */
  ask(row) {
    const image = this.own[row];
    if (!this.thumbnails.has(image)) this.model.send({ kind: "thumbnail", image });
  }

  /** @param {any} message */
  receive(message) {
    if (message.kind === "said") this.say(message.text);
    if (message.kind !== "thumbnail") return;
    this.thumbnails.set(message.image, message.src);
    this.root
      .querySelectorAll(`.wbm-image[data-image="${message.image}"]`)
      .forEach(shown => Object.assign(shown, { src: message.src, hidden: false }));
  }

  /** @param {number} row */
  toggle(row) {
    if (row >= 0) this.select(this.selected[row] ? this.chosen.filter(one => one !== row) : [...this.chosen, row]);
  }

  /**
   * Select rows; with `more` they join those that are.
   * @param {number[]} rows
   */
  select(rows, more = false) {
    const all = more ? [...new Set([...this.chosen, ...rows])] : rows;
    this.take(all);
    this.model.set("selected_rows", all);
    this.model.save_changes();
  }

  /** @param {number[]} rows */
  take(rows) {
    this.chosen = [...rows];
    this.selected.fill(0);
    for (const row of rows) this.selected[row] = 1;
    // the number that a linked explorer shows; a caption selects its image
    const images = new Set(this.chosen.map(row => this.own[row])).size;
    this.say(images ? `${images} ${images > 1 ? "images" : "image"} selected` : "nothing selected");
    const listed = this.chosen.slice(0, LISTED);
    this.list.replaceChildren(...listed.map(row => element("li", {}, this.entry(row))));
    for (const image of new Set(listed.map(row => this.own[row]))) this.ask(image);
    if (rows.length > LISTED)
      this.list.append(
        element("li", { textContent: `and ${rows.length - LISTED} more; selection() lists all of them` }),
      );
    this.redraw();
  }

  /** @param {number} row */
  entry(row) {
    const panel = this.panels[0],
      button = element("button", {
        type: "button",
        onclick: () => {
          this.panels.forEach(one => one.reveal(row));
          this.point(row, panel);
        },
      });
    button.onfocus = () => this.point(row, panel);
    button.onblur = () => this.point(-1);
    button.append(
      this.thumbnail(row, ""),
      element("b", { textContent: `${this.kind(row)} ` }),
      element("bdi", { textContent: this.words(row) }),
    );
    return button;
  }

  /** @param {string} text */
  say(text) {
    this.status.textContent = text;
  }
}

export default {
  /** @param {{ model: Model, el: HTMLElement }} widget */
  render({ model, el }) {
    const view = new MapView(model, el);
    return () => view.stop();
  },
};
