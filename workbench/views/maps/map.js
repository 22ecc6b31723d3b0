// A map of images and captions. Points are drawn by this file into a plain canvas, since not every browser has a graphics card;
// neighbours are those of the full space, sent by the kernel. All words of the data are set as text, never as markup.

const SHAPES = ["circle", "triangle-up", "square", "diamond", "cross", "x", "star", "pentagon", "hexagram"];
const NEAR = 10; // css pixels within which a point answers to the mouse
const LISTED = 50; // selected items that are listed and ringed
const LINES = 8; // selected items whose neighbours are drawn
const FAINT = 84; // opacity of what is not selected, of 255
const KEYS = "Arrow keys: nearest point in that direction · N: nearest neighbour in the full space · Enter or Space: select · "
  + "Escape: clear · + and −: zoom · 0: whole map";

function make(tag, properties = {}, ...children) {
  const { dataset, aria, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  Object.assign(element.dataset, dataset);
  for (const [name, value] of Object.entries(aria || {})) element.setAttribute(name === "role" ? name : `aria-${name}`, value);
  element.append(...children);
  return element;
}

const typed = (Type, view) => new Type(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));

/** "#rrggbb" as a pixel; canvases hold red in the lowest byte. */
function pixel(colour) {
  const [r, g, b] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
  return ((b << 16) | (g << 8) | r) >>> 0;
}

/** 256 pixels along a ramp of colours. */
function ramp(colours) {
  const ends = colours.map(pixel);
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (ends.length - 1), low = Math.min(Math.floor(at), ends.length - 2), share = at - low;
    const mixed = shift => Math.round(((ends[low] >> shift) & 255) * (1 - share) + ((ends[low + 1] >> shift) & 255) * share);
    return ((mixed(16) << 16) | (mixed(8) << 8) | mixed(0)) >>> 0;
  });
}

const polygon = (corners, inner) => Array.from({ length: inner ? 2 * corners : corners }, (_, i) => {
  const angle = (i * 2 * Math.PI) / (inner ? 2 * corners : corners) - Math.PI / 2, radius = inner && i % 2 ? inner : 1;
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
});
const OUTLINES = {
  "triangle-up": polygon(3), diamond: polygon(4), pentagon: polygon(5), star: polygon(5, 0.42), hexagram: polygon(6, 0.55),
  square: [[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]],
};

function trace(context, shape, radius) {
  context.beginPath();
  if (shape === "circle") context.arc(0, 0, 0.85 * radius, 0, 2 * Math.PI);
  else if (shape === "cross" || shape === "x") {
    const thick = 0.3 * radius, long = 0.95 * radius;
    context.save();
    if (shape === "x") context.rotate(Math.PI / 4);
    context.rect(-thick, -long, 2 * thick, 2 * long);
    context.rect(-long, -thick, 2 * long, 2 * thick);
    context.restore();
  } else OUTLINES[shape].forEach(([x, y], i) => (i ? context.lineTo(x * radius, y * radius) : context.moveTo(x * radius, y * radius)));
  context.closePath();
}

/** How far each pixel of a mark is covered, 0 to 255, as offsets that can be added to a place in the picture. */
function stamp(shape, radius) {
  const side = 2 * Math.ceil(radius) + 3, canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.translate(side / 2, side / 2);
  trace(context, shape, radius);
  context.fill();
  const data = context.getImageData(0, 0, side, side).data, found = { x: [], y: [], cover: [] };
  for (let i = 0; i < side * side; i += 1) {
    if (data[4 * i + 3] < 8) continue;
    found.x.push((i % side) - (side >> 1));
    found.y.push(Math.floor(i / side) - (side >> 1));
    found.cover.push(data[4 * i + 3] > 247 ? 255 : data[4 * i + 3]);
  }
  return { x: Int16Array.from(found.x), y: Int16Array.from(found.y), cover: Uint8Array.from(found.cover), reach: side };
}

/** Which points lie near a place: rows sorted by the cell of a square grid over [-1, 1]. */
class Grid {
  constructor(xy) {
    this.xy = xy;
    const count = xy.length / 2, side = (this.side = Math.max(1, Math.ceil(Math.sqrt(count / 2))));
    const cells = new Int32Array(count), start = (this.start = new Int32Array(side * side + 1));
    for (let i = 0; i < count; i += 1) {
      cells[i] = this.cell(xy[2 * i + 1]) * side + this.cell(xy[2 * i]);
      start[cells[i] + 1] += 1;
    }
    for (let i = 0; i < side * side; i += 1) start[i + 1] += start[i];
    const next = start.slice(0, -1);
    this.rows = new Int32Array(count);
    for (let i = 0; i < count; i += 1) this.rows[next[cells[i]]++] = i;
  }

  cell(value) {
    return Math.max(0, Math.min(this.side - 1, Math.floor(((value + 1) / 2) * this.side)));
  }

  /** The nearest row within a radius that is shown, or -1. */
  nearest(x, y, radius, shown) {
    const { xy, side, start, rows } = this;
    let best = -1, least = radius * radius;
    for (let v = this.cell(y - radius); v <= this.cell(y + radius); v += 1) {
      const end = start[v * side + this.cell(x + radius) + 1];
      for (let i = start[v * side + this.cell(x - radius)]; i < end; i += 1) {
        const row = rows[i], dx = xy[2 * row] - x, dy = xy[2 * row + 1] - y, distance = dx * dx + dy * dy;
        if (distance < least && shown[row]) [best, least] = [row, distance];
      }
    }
    return best;
  }
}

/** Places moved and scaled into [-1, 1]; up is up. */
function fitted(points) {
  const low = [Infinity, Infinity], high = [-Infinity, -Infinity], xy = new Float32Array(points.length);
  points.forEach((value, i) => { low[i % 2] = Math.min(low[i % 2], value); high[i % 2] = Math.max(high[i % 2], value); });
  const half = Math.max(high[0] - low[0], high[1] - low[1]) / 1.84 || 1;
  points.forEach((value, i) => { xy[i] = ((i % 2 ? -1 : 1) * (value - (low[i % 2] + high[i % 2]) / 2)) / half; });
  return xy;
}

function inside(corners, x, y) {
  let odd = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i, i += 1) {
    const [ax, ay] = corners[i], [bx, by] = corners[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}

/** One map: its canvas, what is drawn on it, and what the mouse does there. */
class Panel {
  constructor(view, number) {
    this.view = view;
    this.base = make("canvas");
    this.over = make("canvas", { tabIndex: 0, className: "wbm-over", dataset: { testid: `map-canvas-${number}` } });
    this.title = make("div", { className: "wbm-title" });
    this.frame = make("div", { className: "wbm-frame" }, this.base, this.over);
    this.el = make("section", { className: "wbm-panel" }, this.title, this.frame);
    this.grids = view.maps.map(() => null);
    this.middle = [0, 0];
    this.zoom = 1;
    this.listen();
    this.show(number);
  }

  show(number) {
    const { maps } = this.view;
    [this.number, this.map] = [number, maps[number]];
    this.grid = this.grids[number] ||= new Grid(this.map.xy);
    this.title.replaceChildren();
    if (maps.length > 2) {
      const chooser = make("select", { onchange: () => { this.show(chooser.selectedIndex); this.view.refresh(); } });
      chooser.setAttribute("aria-label", "run on this map");
      chooser.append(...maps.map(one => make("option", { textContent: one.name })));
      chooser.selectedIndex = number;
      this.title.append(chooser);
    } else this.title.append(make("strong", { textContent: this.map.name }));
    this.title.append(make("span", { textContent: this.map.about }));
    this.over.setAttribute("role", "application");
    this.over.setAttribute("aria-label", `Map of ${this.map.name}. ${KEYS}`);
  }

  /** Take the size of the page; pixels are those of the screen. */
  fit() {
    const sharp = Math.min(window.devicePixelRatio || 1, 2), width = this.frame.clientWidth, height = this.frame.clientHeight;
    if (!width || !height) return;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * sharp);
      canvas.height = Math.round(height * sharp);
    }
    this.sharp = sharp;
    this.picture = this.base.getContext("2d").createImageData(this.base.width, this.base.height);
    this.pixels = new Uint32Array(this.picture.data.buffer);
  }

  get scale() { return (this.zoom * Math.min(this.base.width, this.base.height)) / 2; }

  toScreen(row) {
    const { xy } = this.map;
    return [this.base.width / 2 + (xy[2 * row] - this.middle[0]) * this.scale, this.base.height / 2 + (xy[2 * row + 1] - this.middle[1]) * this.scale];
  }

  toMap(event) {
    const box = this.over.getBoundingClientRect(), ratio = this.base.width / box.width;
    return [((event.clientX - box.left) * ratio - this.base.width / 2) / this.scale + this.middle[0],
      ((event.clientY - box.top) * ratio - this.base.height / 2) / this.scale + this.middle[1]];
  }

  draw() {
    if (!this.pixels) return;
    const { view, map } = this, count = view.size, looks = view.looksOf(this.number), shown = view.shownOn(this.number);
    const start = count > 20000 ? 1.8 : count > 5000 ? 2.6 : 4;
    const radius = Math.min(9, start * Math.sqrt(Math.sqrt(this.zoom))) * this.sharp, stamps = view.stamps(radius);
    const { width, height } = this.base, { scale, pixels } = this, { xy } = map, { selected } = view;
    const left = width / 2 - this.middle[0] * scale, top = height / 2 - this.middle[1] * scale, reach = stamps[0].reach;
    pixels.fill(0);
    for (let pass = 0; pass < 2; pass += 1) {
      const chosen = pass === 1, alpha = view.chosen.length && !chosen ? FAINT : 255;
      if (chosen && !view.chosen.length) break;
      for (let row = 0; row < count; row += 1) {
        if (!shown[row] || (selected[row] === 1) !== chosen) continue;
        const x = (left + xy[2 * row] * scale) | 0, y = (top + xy[2 * row + 1] * scale) | 0;
        if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
        const one = stamps[looks.shapes[row]], colour = looks.colours[row], { cover } = one;
        for (let i = 0; i < cover.length; i += 1) {
          const at = (y + one.y[i]) * width + x + one.x[i], a = alpha === 255 ? cover[i] : (cover[i] * alpha) >> 8, under = pixels[at];
          if (a === 255) pixels[at] = (0xff000000 | colour) >>> 0;
          else if (under === 0) pixels[at] = ((a << 24) | colour) >>> 0;
          else {
            const b = 255 - a, opaque = under >>> 24, alphaOut = a + ((opaque * b) >> 8);
            const red = ((colour & 255) * a + (under & 255) * b) >> 8, green = (((colour >> 8) & 255) * a + ((under >> 8) & 255) * b) >> 8;
            const blue = (((colour >> 16) & 255) * a + ((under >> 16) & 255) * b) >> 8;
            pixels[at] = ((Math.max(alphaOut, opaque) << 24) | (blue << 16) | (green << 8) | red) >>> 0;
          }
        }
      }
    }
    this.base.getContext("2d").putImageData(this.picture, 0, 0);
    this.drawOver();
  }

  /** What changes with every move of the mouse: rings, lines to neighbours, the lasso. */
  drawOver() {
    if (!this.pixels) return;
    const { view } = this, context = this.over.getContext("2d"), ink = getComputedStyle(this.el).color;
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
    if (this.lasso) {
      context.setLineDash([5 * this.sharp, 4 * this.sharp]);
      context.beginPath();
      this.lasso.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](this.base.width / 2 + (x - this.middle[0]) * this.scale, this.base.height / 2 + (y - this.middle[1]) * this.scale));
      context.stroke();
      context.setLineDash([]);
    }
  }

  ring(context, row, radius) {
    context.lineWidth = 2 * this.sharp;
    context.beginPath();
    context.arc(...this.toScreen(row), radius * this.sharp, 0, 2 * Math.PI);
    context.stroke();
  }

  zoomBy(factor, x = this.middle[0], y = this.middle[1]) {
    const zoom = Math.max(0.5, Math.min(200, this.zoom * factor)), share = this.zoom / zoom;
    this.middle = [x + (this.middle[0] - x) * share, y + (this.middle[1] - y) * share];
    this.zoom = zoom;
    this.view.later(this);
  }

  whole() {
    [this.middle, this.zoom] = [[0, 0], 1];
    this.view.later(this);
  }

  /** Bring a row into the middle if it cannot be seen. */
  reveal(row) {
    const [x, y] = this.toScreen(row), edge = 20 * (this.sharp || 1);
    if (x > edge && y > edge && x < this.base.width - edge && y < this.base.height - edge) return;
    this.middle = [this.map.xy[2 * row], this.map.xy[2 * row + 1]];
    this.view.later(this);
  }

  listen() {
    const { over } = this;
    over.addEventListener("pointerdown", event => this.press(event));
    over.addEventListener("pointermove", event => this.move(event));
    over.addEventListener("pointerup", event => this.release(event));
    over.addEventListener("pointercancel", () => { this.drag = this.lasso = null; });
    over.addEventListener("pointerleave", () => { if (!this.drag) this.view.point(-1); });
    over.addEventListener("dblclick", () => this.whole());
    over.addEventListener("wheel", event => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 400), ...this.toMap(event));
    }, { passive: false });
    over.addEventListener("keydown", event => this.key(event));
  }

  press(event) {
    if (event.button) return;
    this.over.setPointerCapture(event.pointerId);
    this.drag = { x: event.clientX, y: event.clientY, middle: this.middle, moved: false };
    if (this.view.tool === "lasso") this.lasso = [this.toMap(event)];
  }

  move(event) {
    if (!this.drag) {
      const [x, y] = this.toMap(event);
      this.view.point(this.grid.nearest(x, y, (NEAR * this.sharp) / this.scale, this.view.shownOn(this.number)), this, event);
      return;
    }
    this.drag.moved ||= Math.hypot(event.clientX - this.drag.x, event.clientY - this.drag.y) > 3;
    if (this.lasso) {
      this.lasso.push(this.toMap(event));
      this.drawOver();
    } else if (this.drag.moved) {
      const ratio = this.sharp / this.scale;
      this.middle = [this.drag.middle[0] - (event.clientX - this.drag.x) * ratio, this.drag.middle[1] - (event.clientY - this.drag.y) * ratio];
      this.view.later(this);
    }
  }

  release(event) {
    const { drag, lasso } = this;
    this.drag = this.lasso = null;
    if (!drag) return;
    if (!drag.moved) {
      const [x, y] = this.toMap(event), row = this.grid.nearest(x, y, (NEAR * this.sharp) / this.scale, this.view.shownOn(this.number));
      if (row >= 0) this.view.toggle(row);
    } else if (lasso) this.view.select(this.within(lasso), event.shiftKey);
    this.drawOver();
  }

  within(corners) {
    const { xy } = this.map, shown = this.view.shownOn(this.number), found = [];
    const [xs, ys] = [corners.map(one => one[0]), corners.map(one => one[1])];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    for (let row = 0; row < this.view.size; row += 1) {
      const x = xy[2 * row], y = xy[2 * row + 1];
      if (shown[row] && x >= left && x <= right && y >= top && y <= bottom && inside(corners, x, y)) found.push(row);
    }
    return found;
  }

  key(event) {
    const { view } = this, ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const others = {
      n: () => this.go(view.neighbours(this.number, view.current)[0] ?? -1), N: () => others.n(),
      Enter: () => view.toggle(view.current), " ": () => view.toggle(view.current), Escape: () => view.select([]),
      "+": () => this.zoomBy(1.4), "=": () => this.zoomBy(1.4), "-": () => this.zoomBy(1 / 1.4), 0: () => this.whole(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in ways || event.key in others)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key in ways) this.go(this.beside(...ways[event.key]));
    else others[event.key]();
  }

  go(row) {
    if (row < 0) return;
    this.reveal(row);
    this.view.point(row, this, null);
  }

  /** The nearest shown point in a direction; where no point is current, the one nearest to the middle of the panel. */
  beside(dx, dy) {
    const { xy } = this.map, shown = this.view.shownOn(this.number), { current } = this.view;
    if (current < 0) return this.grid.nearest(...this.middle, 4, shown);
    let best = -1, least = Infinity;
    for (let row = 0; row < this.view.size; row += 1) {
      const x = xy[2 * row] - xy[2 * current], y = xy[2 * row + 1] - xy[2 * current + 1], along = x * dx + y * dy;
      const aside = Math.abs(x * dy - y * dx), distance = along * along + 4 * aside * aside;
      if (row !== current && shown[row] && along > 0 && aside <= along && distance < least) [best, least] = [row, distance];
    }
    return best;
  }
}

/** The whole widget: tools, panels, legend, the card of the current item, and the list of what is selected. */
export class MapView {
  constructor(model, el) {
    this.model = model;
    const config = (this.config = model.get("config"));
    Object.assign(this, { size: config.size, images: config.images, current: -1, lines: true, tool: "pan", colour: 0, kept: {} });
    this.own = typed(Int32Array, config.own);
    this.maps = config.maps.map(one => ({ ...one, xy: fitted(typed(Float32Array, one.points)), near: typed(Int32Array, one.near) }));
    this.selected = new Uint8Array(this.size);
    this.chosen = [];
    this.hidden = new Set();
    this.range = [0, 1];
    this.thumbnails = new Map();
    this.captionsOf = null;
    this.root = make("div", { className: "wbm", dataset: { testid: "embedding-map", lmSuppressShortcuts: "true" } });
    this.panels = this.maps.slice(0, 2).map((_, number) => new Panel(this, number));
    this.build();
    el.append(this.root);
    this.listeners = [["change:selected_rows", () => this.take(model.get("selected_rows"))], ["msg:custom", message => this.receive(message)]];
    this.listeners.forEach(([name, listener]) => model.on(name, listener));
    this.resizing = new ResizeObserver(() => { this.panels.forEach(panel => panel.fit()); this.redraw(); });
    this.panels.forEach(panel => this.resizing.observe(panel.frame));
    // Rings and lines have the colour of the page's ink, which changes with the theme.
    this.theme = new MutationObserver(() => this.drawInNewInk(getComputedStyle(this.root).color, 100));
    this.theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light"] });
    this.take(model.get("selected_rows") || []);
  }

  /** The theme's style sheet arrives some time after its name: draw now, and again when the colour has changed. */
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

  build() {
    const tool = name => make("button", { type: "button", textContent: name === "pan" ? "Move" : "Lasso", aria: { pressed: name === this.tool },
      onclick: () => this.use(name), dataset: { testid: `map-${name}`, tool: name } });
    const plain = (label, action) => make("button", { type: "button", textContent: label, onclick: action });
    const chooser = make("select", { dataset: { testid: "map-colour" }, onchange: () => this.paint(chooser.selectedIndex) });
    chooser.append(...this.config.colours.map(one => make("option", { textContent: one.name })));
    const lines = make("input", { type: "checkbox", checked: true, onchange: () => { this.lines = lines.checked; this.drawOver(); } });
    this.tools = make("div", { className: "wbm-tools", aria: { role: "toolbar", label: "Tools of the map" } }, tool("pan"), tool("lasso"),
      plain("Zoom in", () => this.panels.forEach(panel => panel.zoomBy(1.4))), plain("Zoom out", () => this.panels.forEach(panel => panel.zoomBy(1 / 1.4))),
      plain("Whole map", () => this.panels.forEach(panel => panel.whole())), plain("Clear selection", () => this.select([])),
      make("label", {}, "Colour ", chooser), make("label", {}, lines, " show neighbours in the full space"));
    if (this.config.moved) this.tools.append(plain("Select items that moved most", () => this.select([...typed(Int32Array, this.config.moved)])));
    this.legend = make("div", { className: "wbm-legend", aria: { role: "group", label: "Legend: press an entry to hide or show it" } });
    this.card = make("div", { className: "wbm-card", hidden: true, dataset: { testid: "map-card" } });
    this.status = make("p", { className: "wbm-status", dataset: { testid: "map-status" }, aria: { role: "status" } });
    this.list = make("ul", { className: "wbm-list", dataset: { testid: "map-list" }, aria: { label: "Selected items" } });
    const keys = make("details", {}, make("summary", { textContent: "Keys" }), make("p", { textContent: KEYS }));
    this.root.append(this.tools, make("div", { className: "wbm-panels" }, ...this.panels.map(panel => panel.el)), this.legend, keys, this.status, this.list, this.card);
    this.explain();
  }

  use(name) {
    this.tool = name;
    this.tools.querySelectorAll("[data-tool]").forEach(button => button.setAttribute("aria-pressed", button.dataset.tool === name));
    this.root.classList.toggle("wbm-lasso", name === "lasso");
  }

  paint(number) {
    Object.assign(this, { colour: number, hidden: new Set(), range: [0, 1], kept: {} });
    this.explain();
    this.redraw();
  }

  /** The legend of the colour: buttons that hide categories, or the two ends of a scale. */
  explain() {
    const colour = this.config.colours[this.colour];
    this.legend.replaceChildren();
    if (colour.labels) {
      colour.labels.forEach((label, code) => {
        const button = make("button", { type: "button", aria: { pressed: "true" }, dataset: { testid: "map-category" } }, this.sample(colour, code), label);
        button.onclick = () => {
          const hide = !this.hidden.delete(code);
          if (hide) this.hidden.add(code);
          button.setAttribute("aria-pressed", !hide);
          this.refresh();
        };
        this.legend.append(button);
      });
      return;
    }
    const [low, high] = colour.ends, told = make("span"), bar = make("span", { className: "wbm-ramp" });
    bar.style.background = `linear-gradient(to right, ${this.config.ramp.join(", ")})`;
    const say = () => { told.textContent = this.range.map(share => (low + share * (high - low)).toPrecision(3)).join(" to "); };
    const slider = end => {
      const input = make("input", { type: "range", min: 0, max: 1, step: 0.01, value: end, aria: { label: `${end ? "largest" : "smallest"} ${colour.name}` } });
      input.oninput = () => { this.range[end] = +input.value; say(); this.refresh(); };
      return input;
    };
    say();
    this.legend.append(make("span", { textContent: colour.name }), slider(0), bar, slider(1), told);
  }

  sample(colour, code) {
    const canvas = make("canvas", { width: 32, height: 32, className: "wbm-sample", aria: { hidden: "true" } }), context = canvas.getContext("2d");
    context.translate(16, 16);
    context.fillStyle = colour.looks[code][0];
    trace(context, colour.looks[code][1], 13);
    context.fill();
    return canvas;
  }

  /** Colour and shape of every row on a map, made once a choice. */
  looksOf(number) {
    const key = `looks${number}`;
    if (this.kept[key]) return this.kept[key];
    const colour = this.config.colours[this.colour], colours = new Uint32Array(this.size), shapes = new Uint8Array(this.size);
    if (colour.labels) {
      const codes = this.codes(number), pixels = colour.looks.map(one => pixel(one[0])), forms = colour.looks.map(one => SHAPES.indexOf(one[1]));
      for (let row = 0; row < this.size; row += 1) {
        colours[row] = pixels[codes[row]];
        shapes[row] = row < this.images ? 0 : forms[codes[row]];
      }
    } else {
      const values = this.values(number), [low, high] = colour.ends, steps = ramp(this.config.ramp), unknown = pixel(this.config.unknown);
      for (let row = 0; row < this.size; row += 1) {
        const at = Math.round(((values[row] - low) / (high - low || 1)) * 255);
        colours[row] = Number.isNaN(values[row]) ? unknown : steps[Math.max(0, Math.min(255, at))];
        shapes[row] = row < this.images ? 0 : 1;
      }
    }
    return (this.kept[key] = { colours, shapes });
  }

  codes(number) { return (this.kept[`codes${number}`] ||= typed(Uint8Array, this.config.colours[this.colour].data[number])); }

  values(number) { return (this.kept[`values${number}`] ||= typed(Float32Array, this.config.colours[this.colour].data[number])); }

  /** Which rows the legend leaves on a map. */
  shownOn(number) {
    const key = `shown${number}`;
    if (this.kept[key]) return this.kept[key];
    const colour = this.config.colours[this.colour], shown = new Uint8Array(this.size).fill(1);
    if (colour.labels) {
      const codes = this.codes(number);
      for (let row = 0; row < this.size; row += 1) if (this.hidden.has(codes[row])) shown[row] = 0;
    } else if (this.range[0] > 0 || this.range[1] < 1) {
      const values = this.values(number), [low, high] = colour.ends, [from, to] = this.range.map(share => low + share * (high - low));
      // The scale ends below the largest hubs, which belong to its upper end.
      for (let row = 0; row < this.size; row += 1) shown[row] = values[row] >= from && (values[row] <= to || this.range[1] === 1) ? 1 : 0;
    }
    return (this.kept[key] = shown);
  }

  stamps(radius) {
    if (this.kept.radius !== radius) Object.assign(this.kept, { radius, stamps: SHAPES.map(shape => stamp(shape, radius)) });
    return this.kept.stamps;
  }

  neighbours(number, row) {
    const k = this.config.k;
    return row < 0 ? [] : this.maps[number].near.subarray(row * k, (row + 1) * k);
  }

  refresh() {
    Object.keys(this.kept).filter(key => key.startsWith("shown")).forEach(key => delete this.kept[key]);
    this.redraw();
  }

  redraw() { this.panels.forEach(panel => panel.draw()); }

  drawOver() { this.panels.forEach(panel => panel.drawOver()); }

  /** Draw a panel in the next frame, once however often it is asked. */
  later(panel) {
    panel.waiting ||= requestAnimationFrame(() => { panel.waiting = 0; panel.draw(); });
  }

  words(row) {
    if (row >= this.images) return this.config.captions[row - this.images];
    if (!this.captionsOf) {
      this.captionsOf = Array.from({ length: this.images }, () => []);
      for (let caption = this.images; caption < this.size; caption += 1) this.captionsOf[this.own[caption]].push(caption);
    }
    return this.captionsOf[row].map(caption => this.words(caption)).join(" · ");
  }

  kind(row) { return row < this.images ? "image" : "caption"; }

  /** Make a row the current one: ring, lines, card; -1 = none. */
  point(row, panel = this.panels[0], event = null) {
    if (row === this.current && (row < 0 || !event)) return;
    const same = row === this.current;
    this.current = row;
    if (!same) this.drawOver();
    if (row < 0) { this.card.hidden = true; return; }
    if (!same) this.fill(row, panel);
    this.card.hidden = false;
    const box = this.root.getBoundingClientRect(), frame = panel.over.getBoundingClientRect(), [x, y] = panel.toScreen(row);
    const left = frame.left - box.left + x / panel.sharp + 14, top = frame.top - box.top + y / panel.sharp + 14;
    this.card.style.left = `${Math.max(4, left + 270 > box.width ? left - 288 : left)}px`;
    this.card.style.top = `${top}px`;
  }

  fill(row, panel) {
    const colour = this.config.colours[this.colour], near = [...this.neighbours(panel.number, row)].slice(0, 3);
    const value = colour.labels ? colour.labels[this.codes(panel.number)[row]] : this.values(panel.number)[row].toPrecision(3);
    const line = (head, text, className) => make("div", { className }, make("b", { textContent: head }), make("bdi", { textContent: text }));
    this.card.replaceChildren(...this.picture(row), line(`${this.kind(row)} `, this.words(row), "wbm-words"),
      line(`${colour.name} `, Number.isNaN(+value) && !colour.labels ? "unknown" : value, ""),
      ...near.map((other, i) => line(i ? "" : "nearest neighbours in the full space ", `${this.kind(other)}: ${this.words(other)}`, "wbm-near")));
    if (panel.over === document.activeElement) this.say(`${this.kind(row)}: ${this.words(row)}`);
  }

  /** The thumbnail of a row's image: asked of the kernel once the mouse rests, kept in the page. */
  picture(row) {
    if (!this.config.pictures) return [];
    const image = this.own[row], found = make("img", { className: "wbm-picture", alt: `image: ${this.words(image)}`, dataset: { testid: "map-picture" } });
    if (this.thumbnails.get(image)) found.src = this.thumbnails.get(image);
    else {
      found.hidden = true;
      clearTimeout(this.asking);
      this.asking = setTimeout(() => this.model.send({ kind: "thumbnail", image }), 30);
    }
    return [found];
  }

  receive(message) {
    if (message.kind !== "thumbnail") return;
    this.thumbnails.set(message.image, message.src);
    if (this.current < 0 || this.own[this.current] !== message.image) return;
    const found = this.card.querySelector("img");
    Object.assign(found, { src: this.thumbnails.get(message.image), hidden: false });
  }

  toggle(row) {
    if (row >= 0) this.select(this.selected[row] ? this.chosen.filter(one => one !== row) : [...this.chosen, row]);
  }

  /** Select rows; with `more` they join those that are. */
  select(rows, more = false) {
    const all = more ? [...new Set([...this.chosen, ...rows])] : rows;
    this.take(all);
    this.model.set("selected_rows", all);
    this.model.save_changes();
  }

  take(rows) {
    this.chosen = [...rows];
    this.selected.fill(0);
    for (const row of rows) this.selected[row] = 1;
    const images = this.chosen.filter(row => row < this.images).length;
    this.say(rows.length ? `${rows.length} selected: ${images} images, ${rows.length - images} captions` : "nothing selected");
    this.list.replaceChildren(...this.chosen.slice(0, LISTED).map(row => make("li", {}, this.entry(row))));
    if (rows.length > LISTED) this.list.append(make("li", { textContent: `and ${rows.length - LISTED} more; selection() lists all of them` }));
    this.redraw();
  }

  entry(row) {
    const panel = this.panels[0], button = make("button", { type: "button", onclick: () => { this.panels.forEach(one => one.reveal(row)); this.point(row, panel, null); } });
    button.onfocus = () => this.point(row, panel, null);
    button.onblur = () => this.point(-1);
    button.append(make("b", { textContent: `${this.kind(row)} ` }), make("bdi", { textContent: this.words(row) }));
    return button;
  }

  say(text) { this.status.textContent = text; }
}

export default {
  render({ model, el }) {
    const view = new MapView(model, el);
    return () => view.stop();
  },
};
