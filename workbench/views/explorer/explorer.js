// The widget: a bar that stays on top, filters and panels at the side, and one question under way at a time.

let views = 0;
const NARROW = 760; // css pixels below which the side lies under the answers
const BATCH = 24; // items of a column that are fetched at least when more are wanted

class View {
  constructor(model, el, pictures) {
    Object.assign(this, { model, el, pictures, config: model.get("config"), name: `v${views += 1}` });
    Object.assign(this, { asked: 0, busy: false, again: false, answer: null, last: null, chips: [], pins: [], watched: null, base: 0 });
    Object.assign(this, { hiddenRuns: new Set(), open: new Set(), decoded: new WeakSet(), side: null, layout: null, moreThere: false, goOn: false });
    this.root = h("section", { class: "wbx", "aria-label": "Retrieval explorer", "data-testid": "explorer", "data-view": "gallery", onkeydown: event => this.onKey(event) });
    this.kernel = new Kernel(model, this.root, () => this.onLost());
    [this.gallery, this.inspector, this.differ] = [new Gallery(this), new Inspector(this), new Disagreements(this)];
    [this.filters, this.questions] = [new Filters(this), new Questions(this)];
    this.panels = { graph: new GraphPanel(this), way: new WayPanel(this), words: new WordsPanel(this) };
    this.build();
    this.onMessage = (message, buffers) => this.receive(message, buffers);
    this.onSelection = () => this.drawSelection(true);
    model.on("msg:custom", this.onMessage);
    this.onSaved = () => this.questions.draw();
    model.on("change:selected_idx", this.onSelection);
    model.on("change:saved", this.onSaved);
    this.sizing = new ResizeObserver(() => this.fit());
    this.sizing.observe(this.root);
    this.text.value = this.config.start;
    this.ask();
  }

  close() {
    this.model.off("msg:custom", this.onMessage);
    this.model.off("change:selected_idx", this.onSelection);
    this.model.off("change:saved", this.onSaved);
    this.kernel.close();
    this.sizing.disconnect();
    clearTimeout(this.timer);
  }

  // Parts of the page that do not depend on the question

  build() {
    this.chipBox = h("div", { class: "wbx-chips", "data-testid": "chips" });
    this.status = h("span", { class: "wbx-status", role: "status", "data-testid": "status" });
    this.truth = h("div", { class: "wbx-truth", dir: "auto", "data-testid": "truth" });
    this.note = h("div", { class: "wbx-note", "data-testid": "note" });
    this.trouble = h("div", { class: "wbx-trouble", role: "alert", "data-testid": "error" });
    this.main = h("div", { class: "wbx-main-part", tabindex: 0, role: "region", "aria-label": "Answers", "data-testid": "main", onscroll: event => this.scrolled(event), onwheel: event => this.scrolled(event) },
      this.gallery.pins, this.note, this.gallery.columns, this.gallery.more, this.differ.box);
    this.aside = h("aside", { class: "wbx-side", id: `${this.name}-side`, "aria-label": "Filters and panels" },
      this.runBar(), this.filters.box, this.whyPanels(), this.questions.box, this.footer());
    this.root.append(h("header", { class: "wbx-header" }, this.queryBar(), this.viewBar(), this.chipBox, this.trouble,
      h("div", { class: "wbx-strip" }, this.kernel.strip, this.status, this.truth)),
    h("div", { class: "wbx-body" }, this.aside, this.main, this.inspector.box));
    this.el.append(this.root);
  }

  queryBar() {
    const later = () => this.askLater();
    this.text = h("input", {
      type: "text", class: "wbx-text", "data-testid": "query", "aria-label": "Question", placeholder: "a sentence (press / to type here)", dir: "auto",
      autocomplete: "off", spellcheck: "false", oninput: () => { this.panels.graph.changes = []; later(); },
    });
    this.minus = h("input", { type: "text", "data-testid": "minus", dir: "auto", autocomplete: "off", "aria-label": "Subtract words", placeholder: "− words", oninput: later });
    this.seeks = h("select", { "data-testid": "seeks", "aria-label": "Find", onchange: () => { this.forgetRows(); this.ask(); } },
      ["images", "captions", ...(this.config.sizes.entities ? ["entities"] : [])].map(one => h("option", { value: one }, one)));
    this.offered = h("datalist", { id: `${this.name}-offered` });
    this.fromData = h("input", {
      type: "text", list: `${this.name}-offered`, "data-testid": "from-data", "aria-label": "Add an image or a caption of the data", placeholder: "+ from the data", autocomplete: "off",
      oninput: () => this.suggest(), onkeydown: event => { if (event.key === "Enter") { event.preventDefault(); this.takeOffered(true); } },
    });
    this.file = h("input", { type: "file", accept: "image/*,.npy", "data-testid": "file", onchange: () => this.upload() });
    const extras = h("span", { class: "wbx-extras", id: `${this.name}-extras` }, this.minus, this.fromData, this.offered,
      h("label", { class: "wbx-file" }, h("span", {}, "+ picture or .npy"), this.file));
    const unfold = h("button", { type: "button", class: "wbx-unfold", "data-testid": "unfold", "aria-label": "more terms", "aria-expanded": "false", "aria-controls": extras.id,
      onclick: () => unfold.setAttribute("aria-expanded", String(extras.classList.toggle("wbx-unfolded"))) }, "±");
    return h("form", { class: "wbx-bar", role: "search", onsubmit: event => { event.preventDefault(); this.ask(); } },
      this.seeks, this.text, h("button", { type: "submit", class: "wbx-main", "data-testid": "search" }, "Search"), unfold, extras);
  }

  viewBar() {
    const view = (name, label) => h("button", { type: "button", "data-view": name, "data-testid": `view-${name}`, "aria-pressed": String(name === "gallery"), onclick: () => this.show(name) }, label);
    const step = (label, by, name) => h("button", { type: "button", "data-testid": by > 0 ? "next-differs" : "last-differs", "aria-label": name, title: `${name} (key ${by > 0 ? "n" : "N"})`, onclick: () => this.differ.go(by) }, label);
    this.views = h("div", { class: "wbx-group", role: "group", "aria-label": "View" }, view("gallery", "Gallery"),
      this.config.runs.length > 1 ? view("differ", "Disagreements") : null, view("pins", "Pins"));
    // JupyterLab stops Enter in a field of a cell's output, which then tells of no change; elsewhere leaving the field tells of it again
    const asked = () => { if (this.k.value !== this.kAsked) this.ask(); };
    this.k = h("input", { type: "number", min: 1, max: this.config.sizes.images, value: this.config.k, class: "wbx-k", "data-testid": "k", onchange: asked,
      onkeydown: event => { if (event.key === "Enter") { event.preventDefault(); asked(); } } });
    this.size = h("input", { type: "range", min: 70, max: 340, step: 10, value: 150, "data-testid": "size", oninput: () => this.root.style.setProperty("--wbx-size", `${this.size.value}px`) });
    this.sideButton = h("button", { type: "button", "data-testid": "side", "aria-controls": `${this.name}-side`, onclick: () => { this.side = !this.sideShown; this.fit(); } }, "Panels");
    this.layoutButton = h("button", { type: "button", "data-testid": "layout", onclick: () => { this.layout = this.gallery.layout === "grid" ? "list" : "grid"; this.draw(); } });
    this.only = h("input", { type: "checkbox", "data-testid": "only-selected", onchange: () => this.ask() });
    this.onlyLabel = h("label", { class: "wbx-check", hidden: true }, this.only, h("span", {}));
    const inline = (label, control) => h("label", { class: "wbx-inline" }, h("span", {}, label), control);
    return h("div", { class: "wbx-bar" }, this.sideButton, this.views,
      this.config.runs.length > 1 ? h("div", { class: "wbx-group", role: "group", "aria-label": "Disagreements" }, step("‹", -1, "last disagreement"), step("Next disagreement ›", 1, "next disagreement"), this.differ.told) : null,
      inline("k", this.k), inline("size", this.size), this.layoutButton, this.onlyLabel);
  }

  runBar() {
    this.runBoxes = this.config.runs.map((_, i) => h("input", { type: "checkbox", checked: true, "data-testid": `run-${i}`, onchange: event => this.showRun(i, event.target.checked) }));
    if (this.config.runs.length < 2) return null;
    const shown = this.config.runs.map((run, i) => h("label", { class: "wbx-check" }, this.runBoxes[i], words(run)));
    this.baseChoice = h("select", { "data-testid": "base", onchange: event => { this.base = Number(event.target.value); this.draw(); } },
      this.config.runs.map((run, i) => h("option", { value: i }, run)));
    return h("details", { open: true, "data-testid": "runs" }, h("summary", {}, "Runs"), h("div", { class: "wbx-panel-body" },
      h("div", { class: "wbx-runs", role: "group", "aria-label": "Runs that are shown" }, shown),
      h("label", { class: "wbx-field" }, h("span", {}, "Compare ranks with"), this.baseChoice)));
  }

  whyPanels() {
    const titles = { graph: "Scene graph: edit the query and see what changes", way: "Walk to the root: from specific to generic", words: "Words: how much each one matters" };
    return Object.entries(titles).map(([name, title]) => h("details", {
      class: "wbx-panel", "data-testid": name, name: `${this.name}-panel`,
      ontoggle: event => { event.target.open ? this.open.add(name) : this.open.delete(name); this.fit(); this.ask(); },
    }, h("summary", {}, title), h("div", { class: "wbx-panel-body" }, this.panels[name].box)));
  }

  footer() {
    this.path = h("input", { type: "text", value: "explorer.csv", "data-testid": "path", "aria-label": "File to write: .csv, .json or .parquet" });
    const keys = [["/", "query"], ["arrows", "move"], ["Enter", "opens"], ["p", "pins"], ["s", "selects"], ["n", "next disagreement"], ["Esc", "closes"]];
    return h("div", { class: "wbx-footer" },
      h("label", { class: "wbx-inline" }, h("span", {}, "Export to"), this.path),
      h("button", { type: "button", "data-testid": "export", onclick: () => this.send({ kind: "export", path: this.path.value.trim() }) }, "Export"),
      h("p", { class: "wbx-keys" }, "Keys: ", keys.map(([key, does]) => h("span", {}, h("kbd", {}, key), ` ${does} `))));
  }

  /** Which of gallery, disagreements and pins is looked at. */
  show(name) {
    this.root.dataset.view = name;
    this.views.querySelectorAll("button").forEach(one => one.setAttribute("aria-pressed", String(one.dataset.view === name)));
    if (name === "differ" && !this.differ.found) this.differ.load(0);
  }

  get sideShown() { return this.side ?? !this.root.classList.contains("wbx-narrow"); }

  fit() {
    this.root.classList.toggle("wbx-narrow", this.root.clientWidth < NARROW);
    this.root.classList.toggle("wbx-why", this.open.size > 0);
    this.aside.hidden = !this.sideShown;
    this.sideButton.setAttribute("aria-expanded", String(this.sideShown));
  }

  // Asking

  askLater() {
    this.began = performance.now();
    clearTimeout(this.timer);
    // where answers come at once, every key is a question; where they take long, the next key is waited for
    this.timer = setTimeout(() => this.ask(), Math.min(DEBOUNCE, (this.took ?? DEBOUNCE) / 5));
  }

  /** Ask now. One question is under way at a time; the newest waits, the ones between are never sent. */
  ask() {
    clearTimeout(this.timer);
    this.began ??= performance.now();
    this.kAsked = this.k.value;
    if (this.busy) { this.again = true; return; }
    const terms = this.terms();
    if (!terms.some(term => term.sign > 0)) { this.began = null; this.say("Type a sentence, or choose an image or a caption from the data."); return; }
    const question = this.question(terms), same = JSON.stringify([terms, question.seeks, question.walk, question.changes, question.filters]);
    // what was asked before keeps as many answers as it has
    if (same === this.same) question.k = Math.max(question.k, this.shown);
    else this.main.scrollTop = 0;
    Object.assign(this, { again: false, last: question, same, looks: this.state() });
    this.put(question);
  }

  /** Ask for the answers that follow those that are there; `goOn` = the focus goes to the first of them. */
  askMore(goOn = false) {
    if (this.busy || this.kernel.gone || !this.moreThere || !this.answer) return;
    this.goOn = goOn;
    this.put({ ...this.last, skip: this.shown, k: Math.max(BATCH, this.last.k), extras: [] });
  }

  put(question) {
    this.asked += 1;
    this.sent = performance.now();
    this.busy = !this.kernel.gone;
    if (this.busy) this.root.setAttribute("aria-busy", "true");
    this.kernel.wait();
    this.send({ kind: "ask", page: this.pictures.page, question }, `${this.name}-${this.asked}`);
  }

  /** How many answers the longest column has. */
  get shown() { return Math.max(0, ...(this.answer?.columns ?? []).map(column => column.length)); }

  /** Whoever scrolls down gets more; a short answer in the place of a long one scrolls as well, but not down. */
  scrolled({ deltaY = 0 }) {
    const { scrollTop, clientHeight, scrollHeight } = this.main, down = deltaY > 0 || scrollTop > this.gallery.top;
    this.gallery.top = scrollTop;
    if (down && this.root.dataset.view === "gallery" && scrollTop + clientHeight > scrollHeight - 600) this.askMore();
  }

  terms() {
    const typed = (input, sign) => (input.value.trim() ? [{ kind: "text", value: input.value.trim(), sign, name: "" }] : []);
    const chips = this.chips.map(({ kind, value, sign, name }) => ({ kind, value, sign, name }));
    return [...chips, ...typed(this.text, 1), ...typed(this.minus, -1)];
  }

  question(terms) {
    const textAlone = terms.length === 1 && ["text", "caption"].includes(terms[0].kind), { graph, way } = this.panels;
    return {
      terms, seeks: this.seeks.value, k: Math.max(1, Math.round(Number(this.k.value)) || this.config.k), skip: 0, walk: this.open.has("way") ? way.walk : 0,
      pins: this.pins, watched: this.watched, changes: textAlone && this.open.has("graph") ? graph.changes : [], extras: [...this.open],
      filters: { ...this.filters.values(), images: this.only.checked ? this.selected() : [] },
    };
  }

  /** What is asked and how it is looked at, so that it can be kept and asked again. */
  state() {
    return {
      text: this.text.value, minus: this.minus.value, seeks: this.seeks.value, k: this.k.value, size: this.size.value, layout: this.layout, base: this.base, hidden: [...this.hiddenRuns],
      chips: this.chips.filter(chip => chip.kind !== "upload").map(({ thumbnail, ...chip }) => chip), pins: this.pins, walk: this.panels.way.walk,
      changes: this.panels.graph.changes, open: [...this.open], filters: this.filters.values(),
    };
  }

  restore(state) {
    const { text, minus, seeks, k, size, layout, base, hidden, chips, pins, walk, changes, open, filters } = state;
    [this.text.value, this.minus.value, this.seeks.value, this.k.value, this.size.value] = [text, minus, seeks, k, size];
    Object.assign(this, { layout, base: Math.min(base, this.config.runs.length - 1), hiddenRuns: new Set(hidden), chips: chips.map(chip => ({ ...chip })), pins: [...pins], watched: null });
    this.inspector.row = null;
    this.panels.way.slider.value = this.panels.way.walk = walk;
    this.panels.graph.changes = [...changes];
    this.filters.set(filters);
    this.only.checked = false;
    this.root.style.setProperty("--wbx-size", `${size}px`);
    if (this.baseChoice) this.baseChoice.value = String(this.base);
    this.runBoxes.forEach((box, i) => { box.checked = !this.hiddenRuns.has(i); });
    this.open = new Set(open);
    this.aside.querySelectorAll(".wbx-panel").forEach(panel => { panel.open = this.open.has(panel.dataset.testid); });
    this.drawChips();
    this.show("gallery");
    this.ask();
  }

  send(message, id = null, buffers = []) {
    this.trouble.textContent = "";
    this.kernel.send({ ...message, number: id ?? `${this.name}-${message.kind}` }, buffers);
  }

  suggest() {
    if (this.takeOffered(false)) return;
    clearTimeout(this.suggesting);
    this.suggesting = setTimeout(() => this.send({ kind: "suggest", text: this.fromData.value }), DEBOUNCE);
  }

  /** Turn what was chosen of the list into a term; `eager` takes the first of the list. */
  takeOffered(eager) {
    const found = (this.found || []).find(one => one.name === this.fromData.value) || (eager ? (this.found || [])[0] : null);
    if (!found || !this.fromData.value) return false;
    this.fromData.value = "";
    this.offered.replaceChildren();
    this.add({ ...found, sign: 1 });
    return true;
  }

  async upload() {
    const file = this.file.files[0];
    if (file) this.send({ kind: "upload", name: file.name }, null, [await file.arrayBuffer()]);
    this.file.value = "";
  }

  add(term) {
    this.chips.push(term);
    this.drawChips();
    this.ask();
  }

  // Receiving

  receive(message, buffers) {
    if (message.keys) this.pictures.keep(message.keys, buffers);
    if (!String(message.number).startsWith(`${this.name}-`)) return;
    if (this.kernel.heard(message.number === `${this.name}-${this.asked}`)) this.trouble.textContent = "";
    const kinds = {
      answer: () => this.onAnswer(message),
      error: () => this.onError(message),
      uploaded: () => this.add({ kind: "upload", value: message.index, name: message.name, sign: 1 }),
      suggestions: () => this.onSuggestions(message.found),
      disagreements: () => this.differ.take(message.found),
      exported: () => this.say(`Written: ${message.path}`),
      opened: () => this.inspector.take(message.row, buffers[0]),
    };
    kinds[message.kind]?.();
  }

  onAnswer(message) {
    if (!this.free(message)) return;
    const { answer } = message;
    if (answer.skip) this.onMore(answer);
    else {
      this.panels.graph.vocabulary = message.vocabulary || this.panels.graph.vocabulary;
      this.answer = answer;
      this.moreThere = this.shown > 0 && this.shown < answer.passed;
      this.draw();
      this.questions.note(answer.query.label);
    }
    this.report();
  }

  onMore(answer) {
    const before = this.shown, { activeElement } = document, { goOn } = this;
    answer.items.forEach(item => this.items.set(item.row, item));
    this.answer.columns.forEach((column, run) => column.push(...answer.columns[run]));
    this.answer.items = [...this.items.values()];
    this.goOn = false;
    this.moreThere = this.shown > before && this.shown < answer.passed;
    this.gallery.append(answer.columns);
    const card = activeElement?.closest?.(".wbx-card");
    if (goOn && card) this.gallery.focus(this.gallery.cards(card)[this.gallery.cards(card).indexOf(card) + 1]);
  }

  onError(message) {
    this.trouble.textContent = message.text;
    if (message.number === `${this.name}-disagreements`) this.differ.list.replaceChildren();
    if (this.free(message)) this.began = null;
  }

  onLost() {
    this.busy = this.again = false;
    this.root.removeAttribute("aria-busy");
    this.trouble.textContent = "The kernel is gone; what stands here are old answers. Run the cell again.";
  }

  /** The question under way is answered; false where a newer one waits, which makes this answer stale. */
  free(message) {
    if (message.number !== `${this.name}-${this.asked}`) return false;
    this.busy = false;
    this.took = performance.now() - this.sent;
    this.root.removeAttribute("aria-busy");
    if (this.again) { this.ask(); return false; }
    return true;
  }

  onSuggestions(found) {
    this.found = found.map(one => ({ ...one, name: one.kind === "image" ? `image ${one.name}` : one.name }));
    this.offered.replaceChildren(...this.found.map(one => h("option", { value: one.name })));
  }

  /** Report what was found and how long it took, from the key press to the last decoded thumbnail. */
  async report() {
    const { answer } = this, began = this.began ?? performance.now();
    this.began = null;
    const fresh = [...this.root.querySelectorAll("img")].filter(image => !this.decoded.has(image));
    fresh.forEach(image => this.decoded.add(image));
    await Promise.all(fresh.map(image => image.decode().catch(() => null)));
    if (answer !== this.answer) return;
    const passed = answer.passed === answer.gallery ? "" : ` of the ${counted(answer.passed)} that pass the filters,`;
    const took = Math.round(performance.now() - began);
    this.status.dataset.milliseconds = took;
    this.say(`${counted(this.shown)}${passed} of ${counted(answer.gallery)} ${answer.query.seeks} · ${answer.query.measure} · ${took} ms`);
  }

  say(text) {
    this.status.textContent = text;
  }

  // Drawing an answer

  draw() {
    if (!this.answer) return;
    this.items = new Map([...this.answer.partners, ...this.answer.items].map(item => [item.row, item]));
    this.truth.textContent = this.answer.truth;
    this.note.textContent = this.answer.note;
    this.gallery.draw();
    this.layoutButton.textContent = this.gallery.layout === "grid" ? "as a list" : "as a grid";
    this.open.forEach(name => this.panels[name].draw());
    this.inspector.draw();
    this.drawSelection(false);
  }

  drawSelection(changed) {
    const { length } = this.selected();
    this.onlyLabel.hidden = !length && !this.only.checked;
    this.onlyLabel.lastChild.textContent = `only the ${length} selected`;
    this.gallery.mark();
    if (changed && this.only.checked) this.ask();
  }

  /** Runs that are shown, the one that arrows refer to first. */
  order() {
    const runs = this.config.runs.map((_, i) => i).filter(i => i === this.base || !this.hiddenRuns.has(i));
    return unique([this.base, ...runs]);
  }

  runHeads() { return this.answer.runs.map(run => words(run, "th", { scope: "col" })); }

  badge(item) {
    const grade = item.grade === null ? "" : ` ${Number.isInteger(item.grade) ? item.grade : item.grade.toFixed(2)}`;
    return h("span", { class: "wbx-badge", title: this.config.marks[item.mark] }, shape(item.mark), h("span", {}, MARK_NAMES[item.mark] + grade),
      item.level === null ? null : h("span", { class: "wbx-dim" }, ` level ${item.level}`));
  }

  drawChips() {
    const chip = (term, i) => h("span", { class: "wbx-chip", "data-testid": "chip" },
      h("button", { type: "button", "aria-label": `add or subtract ${term.name}`, onclick: () => { term.sign = -term.sign; this.drawChips(); this.ask(); } }, term.sign > 0 ? "+" : "−"),
      this.pictures.urls.has(term.thumbnail) ? this.pictures.image(term.thumbnail, "") : null, words(term.name, "span", { class: "wbx-caption" }),
      h("button", { type: "button", "aria-label": `remove ${term.name}`, onclick: () => { this.chips.splice(i, 1); this.drawChips(); this.ask(); } }, "✕"));
    this.chipBox.replaceChildren(...this.chips.map(chip));
  }

  ofWatched(start) {
    const item = this.items.get(this.answer.watched);
    return item ? `${start} ${item.id} (${this.watched === null ? "the first answer; open another item to watch it" : "the opened item"}).` : "";
  }

  openItem(row) {
    this.watched = row;
    this.inspector.open(row);
    if (this.open.has("graph") || this.open.has("words")) this.ask();
  }

  imageName(item) {
    return this.answer.query.seeks === "images" ? item.id : item.thumbnail.slice(1);
  }

  closeItem() {
    const { row } = this.inspector;
    this.inspector.row = this.watched = null;
    this.inspector.draw();
    this.gallery.columns.querySelector(`.wbx-card[data-row="${row}"]`)?.focus();
  }

  askText(caption) {
    this.chips = [];
    this.restart(caption, "images");
  }

  /** Ask for one term alone: an image, or a caption by its row. */
  askTerm(term, seeks) {
    this.chips = [term];
    this.restart("", seeks);
  }

  restart(text, seeks) {
    this.panels.graph.changes = [];
    this.text.value = text;
    this.minus.value = "";
    this.seeks.value = seeks;
    this.forgetRows();
    this.drawChips();
    this.ask();
  }

  /** Rows mean something else once other things are sought. */
  forgetRows() {
    if (this.answer && this.seeks.value === this.answer.query.seeks) return;
    this.pins = [];
    this.inspector.row = this.watched = null;
  }

  // Pins, selection, runs, filters

  pin(row) {
    this.pins = this.pins.includes(row) ? this.pins.filter(one => one !== row) : [...this.pins, row];
    this.ask();
  }

  selected() {
    return this.model.get("selected_idx");
  }

  select(row) {
    const now = this.selected();
    this.model.set("selected_idx", now.includes(row) ? now.filter(one => one !== row) : [...now, row]);
    this.model.save_changes();
    this.drawSelection(true);
  }

  showRun(run, on) {
    on ? this.hiddenRuns.delete(run) : this.hiddenRuns.add(run);
    this.draw();
  }

  // Keyboard

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.inspector.row !== null) { event.preventDefault(); this.closeItem(); return; }
    if (event.target.matches("input, select, textarea")) return;
    const card = event.target.closest(".wbx-card");
    const keys = { "/": () => { this.text.focus(); this.text.select(); }, n: () => this.differ.go(1), N: () => this.differ.go(-1), ...(card ? this.gallery.keys(card) : {}) };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  }
}

const kept = new WeakMap();

export default {
  initialize({ model }) {
    kept.set(model, new Pictures());
  },
  render({ model, el }) {
    if (!kept.has(model)) kept.set(model, new Pictures());
    const view = new View(model, el, kept.get(model));
    return () => view.close();
  },
};
