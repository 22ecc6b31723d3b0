// A map of images and captions. Points are drawn by these files into a plain canvas, since not every browser has a
// graphics card; neighbours are those of the full space, sent by the kernel. All words of the data are set as text,
// never as markup. The files become one module: Python puts them behind one another (SCRIPTS in widget.py).

/** @import { Place, Properties, Stamp } from "./types.d.ts" */

export const SHAPES = ["circle", "triangle-up", "square", "diamond", "cross", "x", "star", "pentagon", "hexagram"];
export const NEAR = 10; // css pixels within which a point answers to the mouse
export const LISTED = 50; // selected items that are listed and ringed
export const LINES = 8; // selected items whose neighbours are drawn
export const FAINT = 84; // opacity of what is not selected, of 255
export const CLEAR = 200; // opacity of every point while nothing is selected: what lies below shows through
export const KEYS =
  "Arrow keys: nearest point in that direction · N: nearest neighbour in the full space · " +
  "Enter or Space: select · Escape: clear · + and −: zoom · 0: whole map";

/**
 * An element with properties, data attributes, ARIA attributes and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Properties} properties
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, properties = {}, ...children) {
  const { dataset, aria, ...rest } = properties;
  const made = Object.assign(document.createElement(tag), rest);
  Object.assign(made.dataset, dataset);
  for (const [name, value] of Object.entries(aria || {}))
    made.setAttribute(name === "role" ? name : `aria-${name}`, String(value));
  made.append(...children);
  return made;
}

/**
 * The numbers that the kernel sent.
 * @template T
 * @param {new (buffer: ArrayBuffer) => T} Type
 * @param {DataView} view
 */
export const typed = (Type, view) =>
  new Type(/** @type {ArrayBuffer} */ (view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)));

/**
 * "#rrggbb" as a pixel; canvases hold red in the lowest byte.
 * @param {string} colour
 */
export function pixel(colour) {
  const [r, g, b] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
  return ((b << 16) | (g << 8) | r) >>> 0;
}

/**
 * 256 pixels along a ramp of colours.
 * @param {string[]} colours
 */
export function ramp(colours) {
  const ends = colours.map(pixel);
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (ends.length - 1),
      low = Math.min(Math.floor(at), ends.length - 2),
      share = at - low;
    const mixed = (/** @type {number} */ shift) =>
      Math.round(((ends[low] >> shift) & 255) * (1 - share) + ((ends[low + 1] >> shift) & 255) * share);
    return ((mixed(16) << 16) | (mixed(8) << 8) | mixed(0)) >>> 0;
  });
}

/** @type {(corners: number, inner?: number) => Place[]} */
export const polygon = (corners, inner = 0) =>
  Array.from({ length: inner ? 2 * corners : corners }, (_, i) => {
    const angle = (i * 2 * Math.PI) / (inner ? 2 * corners : corners) - Math.PI / 2,
      radius = inner && i % 2 ? inner : 1;
    return /** @type {Place} */ ([radius * Math.cos(angle), radius * Math.sin(angle)]);
  });
/** @type {Record<string, Place[]>} */
export const OUTLINES = {
  "triangle-up": polygon(3),
  diamond: polygon(4),
  pentagon: polygon(5),
  star: polygon(5, 0.42),
  hexagram: polygon(6, 0.55),
  square: [
    [-0.8, -0.8],
    [0.8, -0.8],
    [0.8, 0.8],
    [-0.8, 0.8],
  ],
};

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} shape
 * @param {number} radius
 */
export function trace(context, shape, radius) {
  context.beginPath();
  if (shape === "circle") context.arc(0, 0, 0.85 * radius, 0, 2 * Math.PI);
  else if (shape === "cross" || shape === "x") {
    const thick = 0.3 * radius,
      long = 0.95 * radius;
    context.save();
    if (shape === "x") context.rotate(Math.PI / 4);
    context.rect(-thick, -long, 2 * thick, 2 * long);
    context.rect(-long, -thick, 2 * long, 2 * thick);
    context.restore();
  } else
    OUTLINES[shape].forEach(([x, y], i) =>
      i ? context.lineTo(x * radius, y * radius) : context.moveTo(x * radius, y * radius),
    );
  context.closePath();
}

/**
 * How far each pixel of a mark is covered, 0 to 255, as offsets that can be added to a place in the image.
 * @param {string} shape
 * @param {number} radius
 * @returns {Stamp}
 */
export function stamp(shape, radius) {
  const side = 2 * Math.ceil(radius) + 3,
    canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  context.translate(side / 2, side / 2);
  trace(context, shape, radius);
  context.fill();
  const data = context.getImageData(0, 0, side, side).data,
    /** @type {{ x: number[], y: number[], cover: number[] }} */
    found = { x: [], y: [], cover: [] };
  for (let i = 0; i < side * side; i += 1) {
    if (data[4 * i + 3] < 8) continue;
    found.x.push((i % side) - (side >> 1));
    found.y.push(Math.floor(i / side) - (side >> 1));
    found.cover.push(data[4 * i + 3] > 247 ? 255 : data[4 * i + 3]);
  }
  return { x: Int16Array.from(found.x), y: Int16Array.from(found.y), cover: Uint8Array.from(found.cover), reach: side };
}

/** Which points lie near a place: rows sorted by the cell of a square grid over [-1, 1]. */
export class Grid {
  /** @param {Float32Array} xy */
  constructor(xy) {
    this.xy = xy;
    const count = xy.length / 2,
      side = (this.side = Math.max(1, Math.ceil(Math.sqrt(count / 2))));
    const cells = new Int32Array(count),
      start = (this.start = new Int32Array(side * side + 1));
    for (let i = 0; i < count; i += 1) {
      cells[i] = this.cell(xy[2 * i + 1]) * side + this.cell(xy[2 * i]);
      start[cells[i] + 1] += 1;
    }
    for (let i = 0; i < side * side; i += 1) start[i + 1] += start[i];
    const next = start.slice(0, -1);
    this.rows = new Int32Array(count);
    for (let i = 0; i < count; i += 1) this.rows[next[cells[i]]++] = i;
  }

  /** @param {number} value */
  cell(value) {
    return Math.max(0, Math.min(this.side - 1, Math.floor(((value + 1) / 2) * this.side)));
  }

  /**
   * The nearest row within a radius that is shown, or -1.
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   * @param {Uint8Array} shown
   */
  nearest(x, y, radius, shown) {
    const { xy, side, start, rows } = this;
    let best = -1,
      least = radius * radius;
    for (let v = this.cell(y - radius); v <= this.cell(y + radius); v += 1) {
      const end = start[v * side + this.cell(x + radius) + 1];
      for (let i = start[v * side + this.cell(x - radius)]; i < end; i += 1) {
        const row = rows[i],
          dx = xy[2 * row] - x,
          dy = xy[2 * row + 1] - y,
          distance = dx * dx + dy * dy;
        if (distance < least && shown[row]) [best, least] = [row, distance];
      }
    }
    return best;
  }
}

/**
 * Places moved and scaled into [-1, 1]; up is up.
 * @param {Float32Array} points
 */
export function fitted(points) {
  const low = [Infinity, Infinity],
    high = [-Infinity, -Infinity],
    xy = new Float32Array(points.length);
  points.forEach((value, i) => {
    low[i % 2] = Math.min(low[i % 2], value);
    high[i % 2] = Math.max(high[i % 2], value);
  });
  const half = Math.max(high[0] - low[0], high[1] - low[1]) / 1.84 || 1;
  points.forEach((value, i) => {
    xy[i] = ((i % 2 ? -1 : 1) * (value - (low[i % 2] + high[i % 2]) / 2)) / half;
  });
  return xy;
}

/**
 * @param {number[][]} corners
 * @param {number} x
 * @param {number} y
 */
export function inside(corners, x, y) {
  let odd = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i, i += 1) {
    const [ax, ay] = corners[i],
      [bx, by] = corners[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}
