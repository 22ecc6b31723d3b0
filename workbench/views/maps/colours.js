// The colours and shapes of the points, and the legend that hides some of them.

import { element, pixel, ramp, SHAPES, stamp, trace, typed } from "./shapes.js";

/** @import { Colour, Config, Stamp } from "./types.d.ts" */

/** One colour at a time: what each row looks like on each map, and which rows the legend leaves. */
export class Colours {
  /**
   * @param {Config} config
   * @param {() => void} changed draws the maps
   */
  constructor(config, changed) {
    this.config = config;
    this.changed = changed;
    this.number = 0;
    /** @type {Set<number>} */
    this.hidden = new Set();
    this.range = [0, 1];
    /** @type {{ colours: Uint32Array, shapes: Uint8Array }[]} */
    this.looks = [];
    /** @type {Uint8Array[]} */
    this.shown = [];
    /** @type {{ radius: number, all: Stamp[] }} */
    this.stamped = { radius: 0, all: [] };
    const label = "Legend: press an entry to hide or show it";
    this.legend = element("div", { className: "wbm-legend", aria: { role: "group", label } });
  }

  /** @returns {Colour} */
  get colour() {
    return this.config.colours[this.number];
  }

  /** @param {number} number */
  paint(number) {
    this.number = number;
    this.hidden = new Set();
    this.range = [0, 1];
    this.looks = [];
    this.explain();
    this.refresh();
  }

  /** Other rows are hidden now. */
  refresh() {
    this.shown = [];
    this.changed();
  }

  /** The legend of the colour: buttons that hide categories, or the two ends of a scale. */
  explain() {
    const { labels, ends = [0, 1] } = this.colour;
    if (labels) this.legend.replaceChildren(...labels.map((label, code) => this.category(label, code)));
    else this.legend.replaceChildren(...this.scale(ends));
  }

  /**
   * @param {string} label
   * @param {number} code
   */
  category(label, code) {
    const aria = { pressed: "true" };
    const properties = { type: "button", aria, dataset: { testid: "map-category" } };
    const button = element("button", properties, this.sample(code), label);
    button.onclick = () => {
      const hide = !this.hidden.delete(code);
      if (hide) this.hidden.add(code);
      button.setAttribute("aria-pressed", String(!hide));
      this.refresh();
    };
    return button;
  }

  /** @param {[number, number]} ends */
  scale([low, high]) {
    const { name } = this.colour;
    const told = element("span");
    const bar = element("span", { className: "wbm-ramp" });
    bar.style.background = `linear-gradient(to right, ${this.config.ramp.join(", ")})`;
    const say = () => {
      told.textContent = this.range.map(share => (low + share * (high - low)).toPrecision(3)).join(" to ");
    };
    /** @type {(end: number) => HTMLInputElement} */
    const slider = end => {
      const aria = { label: `${end ? "largest" : "smallest"} ${name}` };
      const input = element("input", { type: "range", min: 0, max: 1, step: 0.01, value: end, aria });
      input.oninput = () => {
        this.range[end] = Number(input.value);
        say();
        this.refresh();
      };
      return input;
    };
    say();
    return [element("span", { textContent: name }), slider(0), bar, slider(1), told];
  }

  /** @param {number} code */
  sample(code) {
    const [colour, shape] = this.colour.looks?.[code] ?? [this.config.unknown, "circle"];
    const canvas = element("canvas", { width: 32, height: 32, className: "wbm-sample", aria: { hidden: "true" } });
    const context = canvas.getContext("2d");
    if (!context) return canvas;
    context.translate(16, 16);
    context.fillStyle = colour;
    trace(context, shape, 13);
    context.fill();
    return canvas;
  }

  /**
   * Colour and shape of every row on a map, made once a choice.
   * @param {number} map
   */
  looksOf(map) {
    return (this.looks[map] ??= this.colour.looks ? this.categories(map, this.colour.looks) : this.numbers(map));
  }

  /**
   * @param {number} map
   * @param {[string, string][]} looks
   */
  categories(map, looks) {
    const { size, images } = this.config;
    const codes = this.codes(map);
    const [pixels, forms] = [looks.map(look => pixel(look[0])), looks.map(look => SHAPES.indexOf(look[1]))];
    const [colours, shapes] = [new Uint32Array(size), new Uint8Array(size)];
    for (let row = 0; row < size; row += 1) {
      colours[row] = pixels[codes[row]];
      shapes[row] = row < images ? 0 : forms[codes[row]];
    }
    return { colours, shapes };
  }

  /** @param {number} map */
  numbers(map) {
    const { size, images } = this.config;
    const [low, high] = this.colour.ends ?? [0, 1];
    const values = this.values(map);
    const [steps, unknown] = [ramp(this.config.ramp), pixel(this.config.unknown)];
    const [colours, shapes] = [new Uint32Array(size), new Uint8Array(size)];
    for (let row = 0; row < size; row += 1) {
      const at = Math.round(((values[row] - low) / (high - low || 1)) * 255);
      colours[row] = Number.isNaN(values[row]) ? unknown : steps[Math.max(0, Math.min(255, at))];
      shapes[row] = row < images ? 0 : 1;
    }
    return { colours, shapes };
  }

  /** @param {number} map */
  codes(map) {
    return typed(Uint8Array, this.colour.data[map]);
  }

  /** @param {number} map */
  values(map) {
    return typed(Float32Array, this.colour.data[map]);
  }

  /**
   * Which rows the legend leaves on a map.
   * @param {number} map
   */
  shownOn(map) {
    return (this.shown[map] ??= this.left(map));
  }

  /** @param {number} map */
  left(map) {
    const shown = new Uint8Array(this.config.size).fill(1);
    const { labels, ends = [0, 1] } = this.colour;
    const [low, high] = ends;
    if (labels) {
      const codes = this.codes(map);
      for (let row = 0; row < shown.length; row += 1) if (this.hidden.has(codes[row])) shown[row] = 0;
    } else if (this.range[0] > 0 || this.range[1] < 1) {
      const values = this.values(map);
      const [from, to] = this.range.map(share => low + share * (high - low));
      // the scale ends below the largest hubs, which belong to its upper end
      const open = this.range[1] === 1;
      for (let row = 0; row < shown.length; row += 1)
        shown[row] = values[row] >= from && (values[row] <= to || open) ? 1 : 0;
    }
    return shown;
  }

  /**
   * The value of a row on a map, in words.
   * @param {number} map
   * @param {number} row
   */
  told(map, row) {
    const { labels } = this.colour;
    if (labels) return labels[this.codes(map)[row]];
    const value = this.values(map)[row];
    return Number.isNaN(value) ? "unknown" : value.toPrecision(3);
  }

  /** @param {number} radius */
  stamps(radius) {
    if (this.stamped.radius !== radius) this.stamped = { radius, all: SHAPES.map(shape => stamp(shape, radius)) };
    return this.stamped.all;
  }
}
