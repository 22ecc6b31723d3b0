// The retrieval explorer in the browser. It asks the kernel by messages and draws what comes back; it knows no other place.
// Every string of the data reaches the page as text (textContent or a text node), never as markup.

const DEBOUNCE = 80;
const SHAPES = { own: "●", relevant: "◆", not: "✕", unknown: "○" };
const MARK_NAMES = { own: "own", relevant: "relevant", not: "not relevant", unknown: "not judged" };
const PARTS = ["objects", "attributes", "relations"];
const FOCUSED = new Set(["button", "input", "select", "summary"]);
let views = 0;

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
const signed = (value, digits = 3) => (value > 0 ? "+" : "") + number(value, digits);
const unique = values => [...new Set(values)];

function shape(mark) {
  return h("span", { class: `wbx-shape wbx-${mark}`, "aria-hidden": "true" }, SHAPES[mark]);
}

/** Thumbnails of one model in this page: each arrives once and stays. */
class Pictures {
  constructor() {
    this.page = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`;
    this.urls = new Map();
  }

  keep(keys, buffers) {
    keys.forEach((key, i) => { if (!this.urls.has(key)) this.urls.set(key, address(buffers[i])); });
  }

  image(key, alt, attributes = {}) {
    return h("img", { src: this.urls.get(key), alt, decoding: "async", draggable: "false", ...attributes });
  }

  drop() {
    this.urls.forEach(url => URL.revokeObjectURL(url));
  }
}

const address = buffer => URL.createObjectURL(new Blob([buffer]));

class View {
  constructor(model, el, pictures) {
    Object.assign(this, { model, el, pictures, config: model.get("config"), name: `v${views += 1}` });
    this.asked = 0;
    this.busy = this.again = false;
    this.answer = null;
    this.chips = [];
    this.changes = [];
    this.pins = [];
    this.watched = null;
    this.opened = null;
    this.base = 0;
    this.hiddenRuns = new Set();
    this.open = new Set();
    this.walk = 0;
    this.vocabulary = {};
    this.off = new AbortController();
    this.build();
    this.onMessage = (message, buffers) => this.receive(message, buffers);
    this.onSelection = () => this.markSelection();
    model.on("msg:custom", this.onMessage);
    model.on("change:selected_idx", this.onSelection);
    this.text.value = this.config.start;
    this.ask();
  }

  close() {
    this.model.off("msg:custom", this.onMessage);
    this.model.off("change:selected_idx", this.onSelection);
    this.off.abort();
    clearTimeout(this.timer);
  }

  // Parts of the page that do not depend on the question

  build() {
    const later = () => this.askLater();
    this.text = h("input", {
      type: "text", class: "wbx-text", "data-testid": "query", placeholder: "a sentence (press / to type here)", dir: "auto",
      autocomplete: "off", spellcheck: "false", oninput: () => { this.changes = []; later(); },
    });
    this.minus = h("input", { type: "text", "data-testid": "minus", dir: "auto", autocomplete: "off", placeholder: "words", oninput: later });
    this.seeks = h("select", { "data-testid": "seeks", onchange: () => { this.forgetRows(); this.ask(); } },
      ["images", "captions", ...(this.config.sizes.entities ? ["entities"] : [])].map(one => h("option", { value: one }, one)));
    this.offered = h("datalist", { id: `${this.name}-offered` });
    this.fromData = h("input", {
      type: "text", list: `${this.name}-offered`, "data-testid": "from-data", placeholder: "words, or an id", autocomplete: "off",
      oninput: () => this.suggest(), onkeydown: event => { if (event.key === "Enter") { event.preventDefault(); this.takeOffered(true); } },
    });
    this.file = h("input", { type: "file", accept: "image/*,.npy", "data-testid": "file", onchange: () => this.upload() });
    this.chipBox = h("div", { class: "wbx-chips", "data-testid": "chips" });
    this.status = h("div", { class: "wbx-status", role: "status", "data-testid": "status" });
    this.truth = h("div", { class: "wbx-truth", dir: "auto", "data-testid": "truth" });
    this.note = h("div", { class: "wbx-note", "data-testid": "note" });
    this.trouble = h("div", { class: "wbx-trouble", role: "alert", "data-testid": "error" });
    this.columns = h("div", { class: "wbx-columns", "data-testid": "columns" });
    this.pinBox = h("div", { class: "wbx-pins", "data-testid": "pins" });
    this.inspector = h("aside", { class: "wbx-inspector", "aria-label": "Opened item", "data-testid": "inspector", hidden: true });
    this.root = h("section", {
      class: "wbx", "aria-label": "Retrieval explorer", "data-testid": "explorer",
      onkeydown: event => this.onKey(event),
    }, this.queryBar(), this.chipBox, this.filterBar(), this.runBar(), this.panels(), this.trouble, this.status, this.truth, this.note,
    this.pinBox, this.inspector, this.columns, this.footer());
    this.el.append(this.root);
  }

  queryBar() {
    const label = (name, control, extra = "") => h("label", { class: `wbx-field ${extra}` }, h("span", {}, name), control);
    return h("form", { class: "wbx-bar", role: "search", onsubmit: event => { event.preventDefault(); this.ask(); } },
      label("Find", this.seeks), label("by text", this.text, "wbx-wide"), label("− subtract", this.minus),
      label("+ from the data", this.fromData), this.offered, label("+ picture or .npy", this.file, "wbx-file"),
      h("button", { type: "submit", class: "wbx-main", "data-testid": "search" }, "Search"));
  }

  filterBar() {
    const { levels, marks } = this.config;
    const ranged = (name, value, testid) => h("input", {
      type: "range", min: 0, max: 1, step: 0.01, value, "aria-label": name, "data-testid": testid, oninput: () => this.onRange(testid),
    });
    const check = (name, value, kind) => h("label", { class: "wbx-check" },
      h("input", { type: "checkbox", value, "data-kind": kind, "data-testid": `${kind}-${value}`, onchange: () => this.ask() }), name);
    this.low = ranged("least descriptiveness", 0, "low");
    this.high = ranged("greatest descriptiveness", 1, "high");
    this.range = h("output", {}, "0.00 to 1.00");
    this.filterText = h("input", { type: "text", "data-testid": "filter-text", dir: "auto", autocomplete: "off", oninput: () => this.askLater() });
    this.filters = h("details", { class: "wbx-filters", "data-testid": "filters" },
      h("summary", {}, "Filters"),
      h("div", { class: "wbx-bar" },
        h("label", { class: "wbx-field" }, h("span", {}, "Caption contains"), this.filterText),
        h("div", { class: "wbx-field", role: "group", "aria-label": "Descriptiveness of the caption" },
          h("span", {}, "Descriptiveness ", this.range), h("span", { class: "wbx-ranges" }, this.low, this.high)),
        levels.length ? h("fieldset", {}, h("legend", {}, "Level"), levels.map(level => check(String(level), level, "level"))) : null,
        h("fieldset", {}, h("legend", {}, `Grade (${this.config.grades})`),
          Object.keys(marks).map(mark => { const made = check(MARK_NAMES[mark], mark, "mark"); made.insertBefore(shape(mark), made.lastChild); made.title = marks[mark]; return made; })),
        h("button", { type: "button", "data-testid": "clear", onclick: () => this.clearFilters() }, "Clear filters")));
    return this.filters;
  }

  runBar() {
    if (this.config.runs.length < 2) return null;
    const shown = this.config.runs.map((run, i) => h("label", { class: "wbx-check" },
      h("input", { type: "checkbox", checked: true, "data-testid": `run-${i}`, onchange: event => this.showRun(i, event.target.checked) }), words(run)));
    const base = h("select", { "data-testid": "base", onchange: event => { this.base = Number(event.target.value); this.draw(); } },
      this.config.runs.map((run, i) => h("option", { value: i }, run)));
    return h("div", { class: "wbx-bar wbx-runs" },
      h("fieldset", {}, h("legend", {}, "Runs"), shown),
      h("label", { class: "wbx-field wbx-inline" }, h("span", {}, "Compare ranks with"), base));
  }

  panels() {
    const panel = (name, title) => {
      const body = h("div", { class: "wbx-panel-body", "data-testid": `${name}-body` });
      this[`${name}Panel`] = body;
      return h("details", {
        class: "wbx-panel", "data-testid": name, name: `${this.name}-panel`,
        ontoggle: event => { event.target.open ? this.open.add(name) : this.open.delete(name); this.ask(); },
      }, h("summary", {}, title), body);
    };
    return h("div", { class: "wbx-panels" }, panel("graph", "Scene graph: edit the query and see what changes"),
      panel("way", "Walk to the root: from specific to generic"), panel("words", "Words: how much each one matters"));
  }

  footer() {
    this.path = h("input", { type: "text", value: "explorer.csv", "data-testid": "path", "aria-label": "File to write: .csv, .json or .parquet" });
    return h("div", { class: "wbx-footer" },
      h("label", { class: "wbx-field wbx-inline" }, h("span", {}, "Export to"), this.path),
      h("button", { type: "button", "data-testid": "export", onclick: () => this.send({ kind: "export", path: this.path.value.trim() }) }, "Export"),
      h("span", { class: "wbx-keys" }, "Keys: ", h("kbd", {}, "/"), " query · arrows move · ", h("kbd", {}, "Enter"), " opens · ",
        h("kbd", {}, "p"), " pins · ", h("kbd", {}, "s"), " selects · ", h("kbd", {}, "Esc"), " closes"));
  }

  // Asking

  askLater() {
    this.began = performance.now();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), DEBOUNCE);
  }

  /** Ask now. One question is under way at a time; the newest waits, the ones between are never sent. */
  ask() {
    clearTimeout(this.timer);
    this.began ??= performance.now();
    if (this.busy) { this.again = true; return; }
    const terms = this.terms();
    if (!terms.some(term => term.sign > 0)) { this.began = null; this.say("Type a sentence, or choose an image or a caption from the data."); return; }
    this.busy = true;
    this.again = false;
    this.asked += 1;
    this.root.setAttribute("aria-busy", "true");
    this.send({ kind: "ask", page: this.pictures.page, question: this.question(terms) }, `${this.name}-${this.asked}`);
  }

  terms() {
    const typed = (input, sign) => (input.value.trim() ? [{ kind: "text", value: input.value.trim(), sign, name: "" }] : []);
    const chips = this.chips.map(({ kind, value, sign, name }) => ({ kind, value, sign, name }));
    return [...chips, ...typed(this.text, 1), ...typed(this.minus, -1)];
  }

  question(terms) {
    const ticked = kind => [...this.filters.querySelectorAll(`input[data-kind=${kind}]:checked`)].map(box => box.value);
    const textAlone = terms.length === 1 && ["text", "caption"].includes(terms[0].kind);
    return {
      terms, seeks: this.seeks.value, k: this.config.k, walk: this.open.has("way") ? this.walk : 0, pins: this.pins, watched: this.watched,
      changes: textAlone && this.open.has("graph") ? this.changes : [], extras: [...this.open],
      filters: { text: this.filterText.value.trim(), levels: ticked("level").map(Number), low: Number(this.low.value), high: Number(this.high.value), marks: ticked("mark") },
    };
  }

  send(message, id = null, buffers = []) {
    this.trouble.textContent = "";
    this.model.send({ ...message, number: id ?? `${this.name}-${message.kind}` }, undefined, buffers);
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
    if (message.kind === "answer") this.pictures.keep(message.keys, buffers);
    if (!String(message.number).startsWith(`${this.name}-`)) return;
    const kinds = {
      answer: () => this.onAnswer(message),
      error: () => this.onError(message),
      uploaded: () => this.add({ kind: "upload", value: message.index, name: message.name, sign: 1 }),
      suggestions: () => this.onSuggestions(message.found),
      exported: () => this.say(`Written: ${message.path}`),
      opened: () => this.onOpened(message.row, buffers[0]),
    };
    kinds[message.kind]?.();
  }

  onAnswer(message) {
    if (!this.free(message)) return;
    this.vocabulary = message.vocabulary || this.vocabulary;
    this.answer = message.answer;
    this.draw();
    this.report();
  }

  onError(message) {
    this.trouble.textContent = message.text;
    if (this.free(message)) this.began = null;
  }

  /** The question under way is answered; false where a newer one waits, which makes this answer stale. */
  free(message) {
    if (message.number !== `${this.name}-${this.asked}`) return false;
    this.busy = false;
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
    const { answer, began } = this;
    this.began = null;
    await Promise.all([...this.root.querySelectorAll("img")].map(image => image.decode().catch(() => null)));
    if (answer !== this.answer) return;
    const shown = Math.max(0, ...answer.columns.map(column => column.length));
    const passed = answer.passed === answer.gallery ? "" : ` of the ${answer.passed} that pass the filters,`;
    const took = Math.round(performance.now() - began);
    this.status.dataset.milliseconds = took;
    this.say(`${shown}${passed} of ${answer.gallery} ${answer.query.seeks} · ${answer.query.measure} · ${took} ms`);
  }

  say(text) {
    this.status.textContent = text;
  }

  // Drawing an answer

  draw() {
    if (!this.answer) return;
    const focus = this.root.querySelector(".wbx-card:focus")?.dataset;
    this.items = new Map(this.answer.items.map(item => [item.row, item]));
    this.truth.textContent = this.answer.truth;
    this.note.textContent = this.answer.note;
    const runs = this.order();
    this.columns.className = `wbx-columns ${runs.length === 1 ? "wbx-single" : "wbx-several"}`;
    this.columns.style.setProperty("--wbx-runs", runs.length);
    this.columns.replaceChildren(...runs.map(run => this.column(run)));
    this.drawPins();
    this.drawGraph();
    this.drawWay();
    this.drawWords();
    this.drawInspector();
    this.markSelection();
    if (focus) (this.card(focus.run, focus.row) || this.columns.querySelector(".wbx-card"))?.focus({ preventScroll: true });
  }

  /** Runs that are shown, the one that arrows refer to first. */
  order() {
    const runs = this.answer.runs.map((_, i) => i).filter(i => i === this.base || !this.hiddenRuns.has(i));
    return unique([this.base, ...runs]);
  }

  column(run) {
    const rows = this.answer.columns[run];
    const empty = h("p", { class: "wbx-empty" }, this.answer.query.seeks === "entities" ? "This run embeds no entities." : "Nothing passes the filters.");
    return h("section", { class: "wbx-column", "data-run": run, "data-testid": `column-${run}`, "aria-label": `Run ${this.answer.runs[run]}` },
      h("h3", {}, words(this.answer.runs[run]), this.order().length > 1 && run === this.base ? h("span", { class: "wbx-dim" }, " ranks are compared with this run") : null),
      rows.length ? h("ol", {}, rows.map((row, place) => this.cardOf(this.items.get(row), run, place))) : empty);
  }

  cardOf(item, run, place) {
    const caption = item.captions[0] ?? "";
    const rank = item.ranks[run];
    const said = `Rank ${rank}, ${MARK_NAMES[item.mark]}: ${caption}`;
    const top = h("span", { class: "wbx-top" }, h("b", {}, `#${rank}`), this.arrow(item, run), h("span", { class: "wbx-score" }, number(item.scores[run])), this.badge(item));
    const card = h("button", {
      type: "button", class: "wbx-card", tabindex: place ? -1 : 0, "data-row": item.row, "data-run": run, "data-testid": "card",
      title: item.captions.join("\n"), onclick: () => this.openItem(item.row),
    }, item.thumbnail ? this.pictures.image(item.thumbnail, said) : null,
    h("span", { class: "wbx-about" }, top, words(caption, "span", { class: "wbx-caption" })));
    return h("li", { class: `wbx-item wbx-is-${item.mark}`, "data-row": item.row }, card, h("span", { class: "wbx-tools" },
      this.toggle("pin", item, this.pins.includes(item.row), () => this.pin(item.row)),
      this.answer.query.seeks === "images" ? this.toggle("select", item, this.selected().includes(item.row), () => this.select(item.row)) : null));
  }

  toggle(name, item, pressed, onclick) {
    return h("button", {
      type: "button", class: `wbx-${name}`, tabindex: -1, "aria-pressed": String(pressed), "aria-label": `${name} ${item.id}`, "data-testid": name, onclick,
    }, name);
  }

  badge(item) {
    const grade = item.grade === null ? "" : ` ${Number.isInteger(item.grade) ? item.grade : item.grade.toFixed(2)}`;
    return h("span", { class: "wbx-badge", title: this.config.marks[item.mark] }, shape(item.mark), h("span", {}, MARK_NAMES[item.mark] + grade),
      item.level === null ? null : h("span", { class: "wbx-dim" }, ` level ${item.level}`));
  }

  arrow(item, run) {
    const [here, there] = [item.ranks[run], item.ranks[this.base]];
    if (run === this.base || here === null || there === null) return null;
    const change = there - here;
    const [sign, name] = change > 0 ? ["▲", "up"] : change < 0 ? ["▼", "down"] : ["=", "same"];
    const said = change ? `${Math.abs(change)} places ${change > 0 ? "higher" : "lower"} than in ${this.answer.runs[this.base]}` : "same rank";
    return h("span", { class: `wbx-arrow wbx-${name}`, role: "img", title: said, "aria-label": said }, sign + (change ? Math.abs(change) : ""));
  }

  drawPins() {
    const rows = this.pins.filter(row => this.items.has(row));
    this.pinBox.hidden = !rows.length;
    if (!rows.length) { this.pinBox.replaceChildren(); return; }
    const head = h("tr", {}, h("th", { scope: "col" }, "Pinned"), this.answer.runs.map(run => words(run, "th", { scope: "col" })), h("td", {}));
    const line = row => {
      const item = this.items.get(row);
      const name = h("button", { type: "button", class: "wbx-link", onclick: () => this.openItem(row) },
        item.thumbnail ? this.pictures.image(item.thumbnail, "") : null, shape(item.mark), words(item.captions[0] ?? item.id, "span", { class: "wbx-caption" }));
      return h("tr", { "data-row": row }, h("th", { scope: "row" }, name),
        item.ranks.map((rank, i) => h("td", {}, h("b", {}, rank === null ? "–" : `#${rank}`), " ", h("span", { class: "wbx-dim" }, number(item.scores[i])))),
        h("td", {}, h("button", { type: "button", "aria-label": `unpin ${item.id}`, onclick: () => this.pin(row) }, "unpin")));
    };
    this.pinBox.replaceChildren(h("table", {}, h("thead", {}, head), h("tbody", {}, rows.map(line))));
  }

  drawChips() {
    const chip = (term, i) => h("span", { class: "wbx-chip", "data-testid": "chip" },
      h("button", { type: "button", "aria-label": `add or subtract ${term.name}`, onclick: () => { term.sign = -term.sign; this.drawChips(); this.ask(); } }, term.sign > 0 ? "+" : "−"),
      this.pictures.urls.has(term.thumbnail) ? this.pictures.image(term.thumbnail, "") : null, words(term.name, "span", { class: "wbx-caption" }),
      h("button", { type: "button", "aria-label": `remove ${term.name}`, onclick: () => { this.chips.splice(i, 1); this.drawChips(); this.ask(); } }, "✕"));
    this.chipBox.replaceChildren(...this.chips.map(chip));
  }

  // Scene graph

  drawGraph() {
    if (!this.open.has("graph")) return;
    const { graph, edits } = this.answer;
    if (!graph) { this.graphPanel.replaceChildren(h("p", { class: "wbx-dim" }, "Only a question that is a single text has a scene graph to edit.")); return; }
    const lists = PARTS.map(part => h("datalist", { id: `${this.name}-${part}` }, (this.vocabulary[part] || []).map(word => h("option", { value: word }))));
    const groups = PARTS.filter(part => graph[part].length).map(part => h("div", { class: "wbx-parts", role: "group", "aria-label": part },
      h("span", { class: "wbx-dim" }, part), graph[part].map((_, index) => this.partOf(graph, part, index))));
    const undo = h("button", { type: "button", "data-testid": "undo", disabled: !this.changes.length, onclick: () => { this.changes.pop(); this.ask(); } }, "Undo");
    const reset = h("button", { type: "button", "data-testid": "reset", disabled: !this.changes.length, onclick: () => { this.changes = []; this.ask(); } }, "Reset");
    this.graphPanel.replaceChildren(...lists, ...groups, h("p", {}, undo, " ", reset, " ", h("span", { class: "wbx-dim" }, this.ofWatched("Scores and ranks of"))), this.editTable(edits));
  }

  partOf(graph, part, index) {
    const value = graph[part][index];
    const name = node => graph.objects[node];
    const [before, word, after] = part === "objects" ? ["", value, ""] : part === "attributes" ? ["", value[1], ` ${name(value[0])}`] : [`${name(value[0])} `, value[1], ` ${name(value[2])}`];
    let done = false;
    const change = to => {
      if (done) return;
      done = true;
      this.changes.push({ part, index, word: to });
      this.ask();
    };
    const swap = event => { const to = event.target.value.trim(); if (to && to !== word) change(to); };
    const input = h("input", {
      type: "text", value: word, list: `${this.name}-${part}`, "aria-label": `another word for ${word}`, "data-testid": `swap-${part}-${index}`, autocomplete: "off",
      size: Math.max(4, Math.min(24, word.length + 2)), onfocus: event => event.target.select(),
      onchange: swap,
      // with a list open, Enter closes it and tells of no change
      onkeydown: event => { if (event.key === "Enter") { event.preventDefault(); swap(event); } },
    });
    const only = part === "objects" && graph.objects.length < 2;
    return h("span", { class: "wbx-part" }, before ? words(before) : null, input, after ? words(after) : null,
      only ? null : h("button", { type: "button", "aria-label": `drop ${word}`, "data-testid": `drop-${part}-${index}`, onclick: () => change("") }, "✕"));
  }

  editTable(edits) {
    if (!edits.length) return h("p", { class: "wbx-dim" }, "Scores and ranks of edits are shown when the question asks for images.");
    const remade = edits.find(edit => edit.kind === "remade");
    const head = h("tr", {}, ["What", "Sentence"].map(name => h("th", { scope: "col" }, name)), this.answer.runs.map(run => words(run, "th", { scope: "col" })));
    const cell = (edit, run) => {
      const change = edit.scores[run] - remade.scores[run];
      const compared = ["edited", "drop"].includes(edit.kind);
      const ranks = compared && edit.ranks[run] !== remade.ranks[run] ? `#${remade.ranks[run]} → #${edit.ranks[run]}` : `#${edit.ranks[run]}`;
      return h("td", {}, h("span", { class: "wbx-num" }, compared ? signed(change) : number(edit.scores[run])), " ", h("b", {}, ranks));
    };
    const line = edit => h("tr", { class: `wbx-${edit.kind}`, "data-testid": `edit-${edit.kind}` }, words(edit.label, "th", { scope: "row" }), words(edit.sentence, "td"), this.answer.runs.map((_, run) => cell(edit, run)));
    return h("div", { class: "wbx-scroll", tabindex: 0, role: "region", "aria-label": "Edits" }, h("table", { class: "wbx-table" }, h("thead", {}, head), h("tbody", {}, edits.map(line))),
      h("p", { class: "wbx-dim" }, "Scores are compared with the sentence rewritten from the unedited graph, so that a change of wording alone does not count."));
  }

  ofWatched(start) {
    const item = this.items.get(this.answer.watched);
    return item ? `${start} ${item.id} (${this.watched === null ? "the first answer; open another item to watch it" : "the opened item"}).` : "";
  }

  // Way to the root

  drawWay() {
    if (!this.open.has("way")) return;
    if (!this.slider) {
      this.slider = h("input", { type: "range", min: 0, max: 1, step: 0.1, value: this.walk, "data-testid": "walk", "aria-label": "share of the way to the root", oninput: event => { this.walk = Number(event.target.value); this.markWay(); this.askLater(); } });
      this.wayTable = h("div", { class: "wbx-scroll", tabindex: 0, role: "region", "aria-label": "Steps of the way" });
      this.wayShare = h("output", { "data-testid": "walk-said" });
      this.wayPanel.replaceChildren(h("label", { class: "wbx-field wbx-inline" }, h("span", {}, "The query"), this.slider, h("span", {}, "the root "), this.wayShare),
        h("p", { class: "wbx-dim" }, "The root is the embedding of the empty text, the most generic query. The slider moves the query along the sphere towards it, and the results below follow. The table shows the nearest image, the nearest caption and its cosine at each step."), this.wayTable);
    }
    const steps = unique(this.answer.way.map(step => step.walk));
    const go = walk => { this.slider.value = this.walk = walk; this.markWay(); this.ask(); };
    const head = walk => h("th", { scope: "col", "data-walk": walk }, h("button", { type: "button", class: "wbx-link", onclick: () => go(walk) }, `${Math.round(100 * walk)} %`));
    const cell = step => h("td", { "data-walk": step.walk }, this.pictures.image(step.thumbnail, `image ${step.image}`),
      words(step.text, "span", { class: "wbx-caption", title: step.text }),
      h("span", { class: "wbx-dim" }, `${step.level === null ? "" : `level ${step.level}, `}${number(step.cosine, 2)}`));
    const line = (run, i) => h("tr", {}, words(run, "th", { scope: "row" }), this.answer.way.filter(step => step.run === i).map(cell));
    this.wayTable.replaceChildren(h("table", { class: "wbx-table wbx-way" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Run"), steps.map(head))), h("tbody", {}, this.answer.runs.map(line))));
    this.markWay();
  }

  markWay() {
    this.wayShare.textContent = `${Math.round(100 * this.walk)} %`;
    this.wayTable.querySelectorAll("[data-walk]").forEach(line => {
      if (Math.abs(Number(line.dataset.walk) - this.walk) < 0.01) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    });
  }

  // Effect of words

  drawWords() {
    if (!this.open.has("words")) return;
    const found = this.answer.words;
    if (!found.length) { this.wordsPanel.replaceChildren(h("p", { class: "wbx-dim" }, "Ask for images with a text of at least two words.")); return; }
    const most = Math.max(1e-9, ...found.flatMap(word => word.effects.map(Math.abs)));
    const bar = effect => h("td", {}, h("span", { class: `wbx-effect ${effect < 0 ? "wbx-less" : ""}`, style: `width:${(100 * Math.abs(effect)) / most}px` }), h("span", { class: "wbx-num" }, signed(effect)));
    const head = h("tr", {}, h("th", { scope: "col" }, "Word"), this.answer.runs.map(run => words(run, "th", { scope: "col" })));
    const line = word => h("tr", {}, words(word.text, "th", { scope: "row" }), word.effects.map(bar));
    this.wordsPanel.replaceChildren(
      h("p", { class: "wbx-dim" }, `How far the score falls when a word is left out; striped bars are words without which it rises. These are not attention weights. ${this.ofWatched("Scores of")}`),
      h("div", { class: "wbx-scroll", tabindex: 0, role: "region", "aria-label": "Effect of each word" }, h("table", { class: "wbx-table" }, h("thead", {}, head), h("tbody", {}, found.map(line)))));
  }

  // One item, opened

  openItem(row) {
    this.opened = row;
    this.watched = row;
    this.large = null;
    this.drawInspector();
    const image = Number(this.items.get(row).thumbnail.slice(1));
    if (this.items.get(row).thumbnail) this.send({ kind: "open", row: image });
    if (this.open.has("graph") || this.open.has("words")) this.ask();
  }

  onOpened(row, buffer) {
    const item = this.items?.get(this.opened);
    if (!item || item.thumbnail !== `i${row}`) return;
    if (this.large) URL.revokeObjectURL(this.large);
    this.large = address(buffer);
    this.drawInspector();
  }

  drawInspector() {
    const item = this.opened === null ? null : this.items.get(this.opened);
    this.inspector.hidden = !item;
    if (!item) { this.inspector.replaceChildren(); return; }
    const image = Number(item.thumbnail.slice(1));
    const picture = item.thumbnail ? h("img", { src: this.large || this.pictures.urls.get(item.thumbnail), alt: item.captions[0] ?? item.id }) : null;
    const askCaption = caption => h("li", {}, words(caption), " ", h("button", { type: "button", "aria-label": `ask: ${caption}`, onclick: () => this.askText(caption) }, "ask"));
    const term = sign => this.add({ kind: "image", value: image, sign, name: `image ${this.imageName(item)}`, thumbnail: item.thumbnail });
    const actions = item.thumbnail ? [
      h("button", { type: "button", "data-testid": "ask-image", onclick: () => this.askImage(image, item) }, "Find captions for this image"),
      h("button", { type: "button", "data-testid": "plus-image", onclick: () => term(1) }, "+ image"),
      h("button", { type: "button", onclick: () => term(-1) }, "− image")] : [];
    const ranks = h("table", { class: "wbx-table" }, h("thead", {}, h("tr", {}, ["Run", "Rank", "Score"].map(name => h("th", { scope: "col" }, name)))),
      h("tbody", {}, this.answer.runs.map((run, i) => h("tr", {}, words(run, "th", { scope: "row" }), h("td", {}, item.ranks[i] === null ? "–" : `#${item.ranks[i]}`), h("td", {}, number(item.scores[i]))))));
    this.inspector.replaceChildren(h("div", { class: "wbx-inspected" }, picture, h("div", {},
      h("h3", {}, words(item.id), " ", this.badge(item)), h("ul", {}, item.captions.map(askCaption)), ranks,
      h("p", { class: "wbx-actions" }, actions, h("button", { type: "button", "data-testid": "close", onclick: () => this.closeItem() }, "Close")))));
  }

  imageName(item) {
    return this.answer.query.seeks === "images" ? item.id : item.thumbnail.slice(1);
  }

  closeItem() {
    const { opened } = this;
    this.opened = this.watched = null;
    this.drawInspector();
    this.columns.querySelector(`.wbx-card[data-row="${opened}"]`)?.focus();
  }

  askText(caption) {
    this.chips = [];
    this.changes = [];
    this.text.value = caption;
    this.minus.value = "";
    this.seeks.value = "images";
    this.forgetRows();
    this.drawChips();
    this.ask();
  }

  askImage(row, item) {
    this.text.value = this.minus.value = "";
    this.changes = [];
    this.seeks.value = "captions";
    this.chips = [{ kind: "image", value: row, sign: 1, name: `image ${this.imageName(item)}`, thumbnail: item.thumbnail }];
    this.forgetRows();
    this.drawChips();
    this.ask();
  }

  /** Rows mean something else once other things are sought. */
  forgetRows() {
    if (this.answer && this.seeks.value === this.answer.query.seeks) return;
    this.pins = [];
    this.opened = this.watched = null;
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
    this.markSelection();
  }

  markSelection() {
    const now = new Set(this.answer?.query.seeks === "images" ? this.selected() : []);
    this.columns.querySelectorAll(".wbx-item").forEach(item => {
      const on = now.has(Number(item.dataset.row));
      item.classList.toggle("wbx-selected", on);
      item.querySelector(".wbx-select")?.setAttribute("aria-pressed", String(on));
    });
  }

  showRun(run, on) {
    on ? this.hiddenRuns.delete(run) : this.hiddenRuns.add(run);
    this.draw();
  }

  onRange(moved) {
    const [low, high] = [Number(this.low.value), Number(this.high.value)];
    if (low > high) (moved === "low" ? this.high : this.low).value = moved === "low" ? low : high;
    this.range.textContent = `${Number(this.low.value).toFixed(2)} to ${Number(this.high.value).toFixed(2)}`;
    this.askLater();
  }

  clearFilters() {
    this.filterText.value = "";
    this.low.value = 0;
    this.high.value = 1;
    this.filters.querySelectorAll("input[type=checkbox]").forEach(box => { box.checked = false; });
    this.onRange("low");
  }

  // Keyboard

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.opened !== null) { event.preventDefault(); this.closeItem(); return; }
    if (event.target.matches("input, select, textarea")) return;
    const card = event.target.closest(".wbx-card");
    const row = card ? Number(card.dataset.row) : null;
    const keys = { "/": () => { this.text.focus(); this.text.select(); } };
    if (card) {
      Object.assign(keys, {
        p: () => this.pin(row), s: () => this.answer.query.seeks === "images" && this.select(row),
        ArrowLeft: () => this.move(card, -1, 0), ArrowRight: () => this.move(card, 1, 0), ArrowUp: () => this.move(card, 0, -1), ArrowDown: () => this.move(card, 0, 1),
        Home: () => this.focusCard(this.cards(card)[0]), End: () => this.focusCard(this.cards(card).at(-1)),
      });
    }
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  }

  card(run, row) {
    return this.columns.querySelector(`.wbx-card[data-run="${run}"][data-row="${row}"]`);
  }

  cards(card) {
    return [...card.closest(".wbx-column").querySelectorAll(".wbx-card")];
  }

  /** The next card that way. Of one run the cards stand in a grid, of several each run is one line of cards from top to bottom. */
  move(card, right, down) {
    const own = this.cards(card);
    const place = own.indexOf(card);
    if (this.columns.classList.contains("wbx-single")) {
      const tops = own.map(one => Math.round(one.getBoundingClientRect().top));
      const width = tops.filter(top => top === tops[0]).length;
      this.focusCard(own[place + right + down * width]);
      return;
    }
    const columns = [...this.columns.querySelectorAll(".wbx-column")];
    const there = columns[columns.indexOf(card.closest(".wbx-column")) + right];
    this.focusCard(there?.querySelectorAll(".wbx-card")[place + down]);
  }

  focusCard(card) {
    if (!card) return;
    this.cards(card).forEach(one => one.setAttribute("tabindex", "-1"));
    card.setAttribute("tabindex", "0");
    card.focus();
  }
}

const kept = new WeakMap();

export default {
  initialize({ model }) {
    kept.set(model, new Pictures());
    return () => kept.get(model).drop();
  },
  render({ model, el }) {
    if (!kept.has(model)) kept.set(model, new Pictures());
    const view = new View(model, el, kept.get(model));
    return () => view.close();
  },
};
