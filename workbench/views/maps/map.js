// The widget of the maps: what its panels share.

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
    this.listeners = [["change:selected_rows", () => this.take(model.get("selected_rows"))], ["change:asked", () => this.takeAsked()], ["msg:custom", message => this.receive(message)]];
    this.listeners.forEach(([name, listener]) => model.on(name, listener));
    this.resizing = new ResizeObserver(() => { this.panels.forEach(panel => panel.fit()); this.redraw(); });
    this.panels.forEach(panel => this.resizing.observe(panel.frame));
    // Rings and lines have the colour of the page's ink, which changes with the theme.
    this.theme = new MutationObserver(() => this.drawInNewInk(getComputedStyle(this.root).color, 100));
    this.theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light"] });
    this.take(model.get("selected_rows") || []);
    this.takeAsked();
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
    this.root.append(this.searchBar(), this.tools, make("div", { className: "wbm-panels" }, ...this.panels.map(panel => panel.el)), this.legend, keys, this.status, this.list, this.card);
    this.explain();
  }

  /** A sentence is asked of the kernel: its place is marked, and the images that the first run finds are selected. */
  searchBar() {
    const find = () => { if (this.search.value.trim()) this.model.send({ kind: "search", text: this.search.value.trim() }); };
    // JupyterLab stops Enter in the fields of a cell's output before a form could hear of it, not before the field does.
    const onkeydown = event => { if (event.key === "Enter" && !event.isComposing) find(); };
    this.search = make("input", { type: "search", onkeydown, placeholder: "find images by a sentence", dataset: { testid: "map-search" }, aria: { label: "Find images by a sentence" } });
    return make("div", { className: "wbm-search", aria: { role: "search" } }, this.search, make("button", { type: "button", textContent: "Find", onclick: find }));
  }

  takeAsked() {
    const asked = this.model.get("asked");
    this.asked = asked?.near ? asked : null;
    if (this.asked) this.search.value = this.asked.text;
    this.drawOver();
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
    if (message.kind === "said") this.say(message.text);
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
