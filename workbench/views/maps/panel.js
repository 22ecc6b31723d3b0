// One map of the widget.

import { CLEAR, element, FAINT, Grid, inside, KEYS, LINES, LISTED, NEAR, trace } from "./shapes.js";

/** @import { Place } from "./types.d.ts" */
/** @import { MapView } from "./map.js" */

/** @param {HTMLCanvasElement} canvas */
const contextOf = canvas => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/** One map: its canvas, what is drawn on it, and what the mouse does there. */
export class Panel {
  /**
   * @param {MapView} view
   * @param {number} number
   */
  constructor(view, number) {
    this.view = view;
    this.base = element("canvas");
    this.over = element("canvas", { tabIndex: 0, className: "wbm-over", dataset: { testid: `map-canvas-${number}` } });
    this.title = element("div", { className: "wbm-title" });
    this.frame = element("div", { className: "wbm-frame" }, this.base, this.over);
    this.el = element("section", { className: "wbm-panel" }, this.title, this.frame);
    /** @type {Place} */
    this.middle = [0, 0];
    this.zoom = 1;
    this.sharp = 1;
    /** The frame that was asked for, 0 = none. */
    this.waiting = 0;
    /** @type {ImageData | undefined} */
    this.imageData = undefined;
    this.pixels = new Uint32Array(0);
    /** @type {{ x: number, y: number, middle: Place, moved: boolean } | null} */
    this.drag = null;
    /** @type {Place[] | null} */
    this.lasso = null;
    this.number = number;
    this.map = view.maps[number];
    this.grid = new Grid(this.map.xy);
    this.title.append(
      element("strong", { textContent: this.map.name }),
      element("span", { textContent: this.map.about }),
    );
    this.over.setAttribute("role", "application");
    this.over.setAttribute("aria-label", `Map of ${this.map.name}. ${KEYS}`);
    this.listen();
  }

  /** Take the size of the page; pixels are those of the screen. */
  fit() {
    const sharp = Math.min(window.devicePixelRatio || 1, 2),
      width = this.frame.clientWidth,
      height = this.frame.clientHeight;
    if (!width || !height) return;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * sharp);
      canvas.height = Math.round(height * sharp);
    }
    this.sharp = sharp;
    this.imageData = contextOf(this.base).createImageData(this.base.width, this.base.height);
    this.pixels = new Uint32Array(this.imageData.data.buffer);
  }

  get scale() {
    return (this.zoom * Math.min(this.base.width, this.base.height)) / 2;
  }

  /**
   * @param {number} row
   * @returns {Place}
   */
  toScreen(row) {
    const { xy } = this.map;
    return [
      this.base.width / 2 + (xy[2 * row] - this.middle[0]) * this.scale,
      this.base.height / 2 + (xy[2 * row + 1] - this.middle[1]) * this.scale,
    ];
  }

  /**
   * @param {MouseEvent} event
   * @returns {Place}
   */
  toMap(event) {
    const box = this.over.getBoundingClientRect(),
      ratio = this.base.width / box.width;
    return [
      ((event.clientX - box.left) * ratio - this.base.width / 2) / this.scale + this.middle[0],
      ((event.clientY - box.top) * ratio - this.base.height / 2) / this.scale + this.middle[1],
    ];
  }

  draw() {
    if (!this.imageData) return;
    const { view, map } = this,
      count = view.size,
      looks = view.colours.looksOf(this.number),
      shown = view.colours.shownOn(this.number);
    const start = count > 20000 ? 1.8 : count > 5000 ? 2.6 : 4;
    const radius = Math.min(9, start * Math.sqrt(Math.sqrt(this.zoom))) * this.sharp,
      stamps = view.colours.stamps(radius);
    const { width, height } = this.base,
      { scale, pixels } = this,
      { xy } = map,
      { selected } = view;
    const left = width / 2 - this.middle[0] * scale,
      top = height / 2 - this.middle[1] * scale,
      reach = stamps[0].reach;
    pixels.fill(0);
    for (let pass = 0; pass < 2; pass += 1) {
      const chosen = pass === 1,
        alpha = view.chosen.length && !chosen ? FAINT : chosen ? 255 : CLEAR;
      if (chosen && !view.chosen.length) break;
      // captions first, since images are fewer and would lie below them
      for (let row = count - 1; row >= 0; row -= 1) {
        if (!shown[row] || (selected[row] === 1) !== chosen) continue;
        const x = (left + xy[2 * row] * scale) | 0,
          y = (top + xy[2 * row + 1] * scale) | 0;
        if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
        const one = stamps[looks.shapes[row]],
          colour = looks.colours[row],
          { cover } = one;
        for (let i = 0; i < cover.length; i += 1) {
          const at = (y + one.y[i]) * width + x + one.x[i],
            a = alpha === 255 ? cover[i] : (cover[i] * alpha) >> 8,
            under = pixels[at];
          if (a === 255) pixels[at] = (0xff000000 | colour) >>> 0;
          else if (under === 0) pixels[at] = ((a << 24) | colour) >>> 0;
          else {
            const b = 255 - a,
              opaque = under >>> 24,
              alphaOut = a + ((opaque * b) >> 8);
            const red = ((colour & 255) * a + (under & 255) * b) >> 8,
              green = (((colour >> 8) & 255) * a + ((under >> 8) & 255) * b) >> 8;
            const blue = (((colour >> 16) & 255) * a + ((under >> 16) & 255) * b) >> 8;
            pixels[at] = ((Math.max(alphaOut, opaque) << 24) | (blue << 16) | (green << 8) | red) >>> 0;
          }
        }
      }
    }
    contextOf(this.base).putImageData(this.imageData, 0, 0);
    this.drawOver();
  }

  /** What changes with every move of the mouse: rings, lines to neighbours, the lasso. */
  drawOver() {
    if (!this.imageData) return;
    const { view } = this,
      context = contextOf(this.over),
      ink = getComputedStyle(this.el).color;
    context.clearRect(0, 0, this.over.width, this.over.height);
    Object.assign(context, { strokeStyle: ink, lineWidth: 1.2 * this.sharp });
    const ringed = view.current >= 0 ? [view.current] : view.chosen.length <= LISTED ? view.chosen : [];
    const centres = ringed.length <= LINES ? ringed : [];
    if (view.lines) {
      context.globalAlpha = 0.75;
      context.beginPath();
      for (const row of centres) {
        for (const other of view.neighbours(this.number, row)) {
          context.moveTo(...this.toScreen(row));
          context.lineTo(...this.toScreen(other));
        }
      }
      context.stroke();
      context.globalAlpha = 1;
    }
    for (const row of ringed) this.ring(context, row, row === view.current ? 9 : 7);
    this.star(context);
    if (this.lasso) {
      context.setLineDash([5 * this.sharp, 4 * this.sharp]);
      context.beginPath();
      this.lasso.forEach(([x, y], i) =>
        context[i ? "lineTo" : "moveTo"](
          this.base.width / 2 + (x - this.middle[0]) * this.scale,
          this.base.height / 2 + (y - this.middle[1]) * this.scale,
        ),
      );
      context.stroke();
      context.setLineDash([]);
    }
  }

  /**
   * Where the question that was asked last lies: amid the items that are nearest to it in the full space.
   * @param {CanvasRenderingContext2D} context
   */
  star(context) {
    const near = this.view.question?.near[this.number];
    if (!near) return;
    const middle = (/** @type {0 | 1} */ axis) =>
      near.reduce((/** @type {number} */ sum, /** @type {number} */ row) => sum + this.toScreen(row)[axis], 0) /
      near.length;
    context.save();
    context.translate(middle(0), middle(1));
    trace(context, "star", 13 * this.sharp);
    Object.assign(context, { fillStyle: "#e4002b", lineWidth: 2 * this.sharp });
    context.fill();
    context.stroke();
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} row
   * @param {number} radius
   */
  ring(context, row, radius) {
    context.lineWidth = 2 * this.sharp;
    context.beginPath();
    context.arc(...this.toScreen(row), radius * this.sharp, 0, 2 * Math.PI);
    context.stroke();
  }

  /**
   * @param {number} factor
   * @param {number} [x]
   * @param {number} [y]
   */
  zoomBy(factor, x = this.middle[0], y = this.middle[1]) {
    const zoom = Math.max(0.5, Math.min(200, this.zoom * factor)),
      share = this.zoom / zoom;
    this.middle = [x + (this.middle[0] - x) * share, y + (this.middle[1] - y) * share];
    this.zoom = zoom;
    this.view.later(this);
  }

  whole() {
    this.middle = [0, 0];
    this.zoom = 1;
    this.view.later(this);
  }

  /**
   * Bring a row into the middle if it cannot be seen.
   * @param {number} row
   */
  reveal(row) {
    const [x, y] = this.toScreen(row),
      edge = 20 * (this.sharp || 1);
    if (x > edge && y > edge && x < this.base.width - edge && y < this.base.height - edge) return;
    this.middle = [this.map.xy[2 * row], this.map.xy[2 * row + 1]];
    this.view.later(this);
  }

  listen() {
    const { over } = this;
    over.addEventListener("pointerdown", event => this.press(event));
    over.addEventListener("pointermove", event => this.move(event));
    over.addEventListener("pointerup", event => this.release(event));
    over.addEventListener("pointercancel", () => {
      this.drag = this.lasso = null;
    });
    over.addEventListener("pointerleave", () => {
      if (!this.drag) this.view.point(-1);
    });
    over.addEventListener("dblclick", () => this.whole());
    over.addEventListener(
      "wheel",
      event => {
        event.preventDefault();
        this.zoomBy(Math.exp(-event.deltaY / 400), ...this.toMap(event));
      },
      { passive: false },
    );
    over.addEventListener("keydown", event => this.key(event));
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button) return;
    this.over.setPointerCapture(event.pointerId);
    this.drag = { x: event.clientX, y: event.clientY, middle: this.middle, moved: false };
    if (this.view.tool === "lasso") this.lasso = [this.toMap(event)];
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.drag) {
      const [x, y] = this.toMap(event);
      this.view.point(
        this.grid.nearest(x, y, (NEAR * this.sharp) / this.scale, this.view.colours.shownOn(this.number)),
        this,
        true,
      );
      return;
    }
    this.drag.moved ||= Math.hypot(event.clientX - this.drag.x, event.clientY - this.drag.y) > 3;
    if (this.lasso) {
      this.lasso.push(this.toMap(event));
      this.drawOver();
    } else if (this.drag.moved) {
      const ratio = this.sharp / this.scale;
      this.middle = [
        this.drag.middle[0] - (event.clientX - this.drag.x) * ratio,
        this.drag.middle[1] - (event.clientY - this.drag.y) * ratio,
      ];
      this.view.later(this);
    }
  }

  /** @param {PointerEvent} event */
  release(event) {
    const { drag, lasso } = this;
    this.drag = this.lasso = null;
    if (!drag) return;
    if (!drag.moved) {
      const [x, y] = this.toMap(event),
        row = this.grid.nearest(x, y, (NEAR * this.sharp) / this.scale, this.view.colours.shownOn(this.number));
      if (row >= 0) this.view.toggle(row);
    } else if (lasso) this.view.select(this.within(lasso), event.shiftKey);
    this.drawOver();
  }

  /** @param {number[][]} corners */
  within(corners) {
    const { xy } = this.map,
      shown = this.view.colours.shownOn(this.number),
      found = [];
    const [xs, ys] = [corners.map(one => one[0]), corners.map(one => one[1])];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    for (let row = 0; row < this.view.size; row += 1) {
      const x = xy[2 * row],
        y = xy[2 * row + 1];
      if (shown[row] && x >= left && x <= right && y >= top && y <= bottom && inside(corners, x, y)) found.push(row);
    }
    return found;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { view } = this;
    const toggle = () => view.toggle(view.current);
    const nearest = () => this.go(view.neighbours(this.number, view.current)[0] ?? -1);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => this.go(this.beside(-1, 0)),
      ArrowRight: () => this.go(this.beside(1, 0)),
      ArrowUp: () => this.go(this.beside(0, -1)),
      ArrowDown: () => this.go(this.beside(0, 1)),
      n: nearest,
      N: nearest,
      Enter: toggle,
      " ": toggle,
      Escape: () => view.select([]),
      "+": () => this.zoomBy(1.4),
      "=": () => this.zoomBy(1.4),
      "-": () => this.zoomBy(1 / 1.4),
      0: () => this.whole(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  /** @param {number} row */
  go(row) {
    if (row < 0) return;
    this.reveal(row);
    this.view.point(row, this);
  }

  /**
   * The nearest shown point in a direction; where no point is current, the one nearest to the middle of the panel.
   * @param {number} dx
   * @param {number} dy
   */
  beside(dx, dy) {
    const { xy } = this.map,
      shown = this.view.colours.shownOn(this.number),
      { current } = this.view;
    if (current < 0) return this.grid.nearest(...this.middle, 4, shown);
    let best = -1,
      least = Infinity;
    for (let row = 0; row < this.view.size; row += 1) {
      const x = xy[2 * row] - xy[2 * current],
        y = xy[2 * row + 1] - xy[2 * current + 1],
        along = x * dx + y * dy;
      const aside = Math.abs(x * dy - y * dx),
        distance = along * along + 4 * aside * aside;
      if (row !== current && shown[row] && along > 0 && aside <= along && distance < least)
        [best, least] = [row, distance];
    }
    return best;
  }
}
