// The answers themselves: a column of cards for each run, the pinned items, the opened item, and the keys that walk among them.

class Gallery {
  constructor(view) {
    Object.assign(this, { view, top: 0 });
    this.columns = h("div", { class: "wbx-columns", "data-testid": "columns" });
    this.more = h("button", { type: "button", class: "wbx-more", "data-testid": "more", onclick: () => view.askMore() });
    this.pins = h("div", { class: "wbx-pins", "data-testid": "pins" });
  }

  get layout() { return this.view.layout ?? (this.view.order().length > 1 ? "list" : "grid"); }

  draw() {
    const focus = this.columns.querySelector(".wbx-card:focus")?.dataset, runs = this.view.order();
    this.columns.className = `wbx-columns wbx-${this.layout} ${runs.length === 1 ? "wbx-single" : "wbx-several"}`;
    this.columns.style.setProperty("--wbx-runs", runs.length);
    this.columns.replaceChildren(...runs.map(run => this.column(run)));
    this.top = this.view.main.scrollTop; // from where somebody scrolls on
    this.drawMore();
    this.drawPins();
    this.mark();
    if (focus) (this.card(focus.run, focus.row) || this.columns.querySelector(".wbx-card"))?.focus({ preventScroll: true });
  }

  column(run) {
    const { answer, base } = this.view, rows = answer.columns[run];
    const empty = h("p", { class: "wbx-empty" }, answer.query.seeks === "entities" ? "This run embeds no entities." : "Nothing passes the filters.");
    const told = this.view.order().length > 1 && run === base ? h("span", { class: "wbx-dim", title: "arrows say how far an item stands from its rank in this run" }, " reference") : null;
    return h("section", { class: "wbx-column", "data-run": run, "data-testid": `column-${run}`, "aria-label": `Run ${answer.runs[run]}` },
      h("div", { class: "wbx-head" }, h("h3", {}, words(answer.runs[run]), told), this.known(run)),
      rows.length ? h("ol", {}, rows.map((row, at) => this.item(this.view.items.get(row), run, at))) : empty);
  }

  /** Where the item that belongs to the question and the pinned ones stand in this run, also beyond what is shown. */
  known(run) {
    const { answer, pins, items } = this.view, shown = answer.columns[run].length;
    const one = (item, name, kind) => h("button", { type: "button", class: `wbx-known ${item.ranks[run] > shown ? "wbx-below" : ""}`, "data-testid": kind,
      title: item.captions[0] ?? item.id, onclick: () => this.view.openItem(item.row) }, name, h("strong", {}, place(item.ranks[run])));
    const own = answer.partners.map((item, i) => one(item, i ? "" : h("span", {}, shape("own"), " own "), "own-rank"));
    return h("div", { class: "wbx-places" }, own, pins.filter(row => items.has(row)).map((row, i) => one(items.get(row), `pin ${i + 1} `, "pin-rank")));
  }

  item(item, run, at) {
    const { view } = this, caption = item.captions[0] ?? "", rank = item.ranks[run];
    const said = `Rank ${rank}, ${MARK_NAMES[item.mark]}: ${caption}`;
    const top = h("span", { class: "wbx-top" }, h("b", {}, `#${rank}`), this.arrow(item, run), h("span", { class: "wbx-score" }, number(item.scores[run])), view.badge(item));
    const card = h("button", {
      type: "button", class: "wbx-card", tabindex: at ? -1 : 0, "data-row": item.row, "data-run": run, "data-testid": "card",
      title: item.captions.join("\n"), onclick: () => view.openItem(item.row),
    }, item.thumbnail ? view.pictures.image(item.thumbnail, said) : null,
    h("span", { class: "wbx-about" }, top, words(caption, "span", { class: "wbx-caption" })));
    return h("li", { class: `wbx-item wbx-is-${item.mark}`, "data-row": item.row }, card, h("span", { class: "wbx-tools" },
      this.toggle("pin", item, view.pins.includes(item.row), () => view.pin(item.row)),
      view.answer.query.seeks === "images" ? this.toggle("select", item, view.selected().includes(item.row), () => view.select(item.row)) : null));
  }

  toggle(name, item, pressed, onclick) {
    return h("button", {
      type: "button", class: `wbx-${name}`, tabindex: -1, "aria-pressed": String(pressed), "aria-label": `${name} ${item.id}`, "data-testid": name, onclick,
    }, name);
  }

  arrow(item, run) {
    const { base, answer } = this.view, [here, there] = [item.ranks[run], item.ranks[base]];
    if (run === base || here === null || there === null) return null;
    const change = there - here;
    const [sign, name] = change > 0 ? ["▲", "up"] : change < 0 ? ["▼", "down"] : ["=", "same"];
    const said = change ? `${Math.abs(change)} places ${change > 0 ? "higher" : "lower"} than in ${answer.runs[base]}` : "same rank";
    return h("span", { class: `wbx-arrow wbx-${name}`, role: "img", title: said, "aria-label": said }, sign + (change ? Math.abs(change) : ""));
  }

  /** Put the cards that follow behind those that stand there. */
  append(columns) {
    for (const run of this.view.order()) {
      const list = this.columns.querySelector(`.wbx-column[data-run="${run}"] ol`), { length } = this.view.answer.columns[run];
      const from = length - columns[run].length;
      list?.append(...columns[run].map((row, i) => this.item(this.view.items.get(row), run, from + i)));
    }
    this.drawMore();
    this.mark();
  }

  drawMore() {
    const { shown, answer } = this.view, least = Math.min(shown, answer.passed);
    this.more.hidden = !this.view.moreThere;
    this.more.textContent = `Show more: ${counted(least)} of ${counted(answer.passed)} are shown`;
  }

  drawPins() {
    const { answer, items } = this.view, rows = this.view.pins.filter(row => items.has(row));
    this.pins.classList.toggle("wbx-none", !rows.length);
    if (!rows.length) { this.pins.replaceChildren(h("p", { class: "wbx-dim" }, "Nothing is pinned: press p on a card, or its button, and its rank and score in every run stand here.")); return; }
    const line = (row, i) => {
      const item = items.get(row);
      const name = h("button", { type: "button", class: "wbx-link", onclick: () => this.view.openItem(row) }, `${i + 1} `,
        item.thumbnail ? this.view.pictures.image(item.thumbnail, "") : null, shape(item.mark), words(item.captions[0] ?? item.id, "span", { class: "wbx-caption" }));
      return h("tr", { "data-row": row }, h("th", { scope: "row" }, name),
        item.ranks.map((rank, run) => h("td", {}, h("b", {}, place(rank)), " ", h("span", { class: "wbx-dim" }, number(item.scores[run])))),
        h("td", {}, h("button", { type: "button", "aria-label": `unpin ${item.id}`, onclick: () => this.view.pin(row) }, "unpin")));
    };
    this.pins.replaceChildren(table("Pinned items", [heading("Pinned"), ...answer.runs.map(run => words(run, "th", { scope: "col" })), h("td", {})], rows.map(line)));
  }

  /** Show what is selected, here and in every linked view. */
  mark() {
    const now = new Set(this.view.answer?.query.seeks === "images" ? this.view.selected() : []);
    this.columns.querySelectorAll(".wbx-item").forEach(item => {
      const on = now.has(Number(item.dataset.row));
      item.classList.toggle("wbx-selected", on);
      item.querySelector(".wbx-select")?.setAttribute("aria-pressed", String(on));
    });
  }

  // Keys: from card to card

  keys(card) {
    const row = Number(card.dataset.row), go = (right, down) => () => this.move(card, right, down);
    return {
      p: () => this.view.pin(row), s: () => this.view.answer.query.seeks === "images" && this.view.select(row),
      ArrowLeft: go(-1, 0), ArrowRight: go(1, 0), ArrowUp: go(0, -1), ArrowDown: go(0, 1),
      Home: () => this.focus(this.cards(card)[0]), End: () => { this.focus(this.cards(card).at(-1)); this.view.askMore(); },
    };
  }

  card(run, row) {
    return this.columns.querySelector(`.wbx-card[data-run="${run}"][data-row="${row}"]`);
  }

  cards(card) {
    return [...card.closest(".wbx-column").querySelectorAll(".wbx-card")];
  }

  /** The next card that way: in a list each run is one line of cards, and the same place of the next run lies beside it. */
  move(card, right, down) {
    const own = this.cards(card), at = own.indexOf(card), columns = [...this.columns.querySelectorAll(".wbx-column")];
    const wide = own.filter(one => Math.abs(one.getBoundingClientRect().top - own[0].getBoundingClientRect().top) < 2).length;
    const beside = at + right, inRow = this.layout === "grid" && Math.floor(beside / wide) === Math.floor(at / wide) && own[beside];
    if (down || columns.length === 1 || inRow) {
      const next = own[at + right + down * wide];
      this.focus(next);
      if (!next && (down > 0 || right > 0)) this.view.askMore(true);
      return;
    }
    const there = columns[columns.indexOf(card.closest(".wbx-column")) + right];
    const first = this.layout === "grid" ? Math.floor(at / wide) * wide + (right < 0 ? wide - 1 : 0) : at;
    this.focus(there?.querySelectorAll(".wbx-card")[first]);
  }

  focus(card) {
    if (!card) return;
    this.cards(card).forEach(one => one.setAttribute("tabindex", "-1"));
    card.setAttribute("tabindex", "0");
    card.focus();
  }
}

/** One item, large, with its captions and its place in every run. */
class Inspector {
  constructor(view) {
    Object.assign(this, { view, row: null, large: null });
    this.box = h("aside", { class: "wbx-inspector", "aria-label": "Opened item", "data-testid": "inspector", hidden: true });
  }

  open(row) {
    const { thumbnail } = this.view.items.get(row);
    Object.assign(this, { row, large: null });
    this.draw();
    if (thumbnail) this.view.send({ kind: "open", row: Number(thumbnail.slice(1)) });
  }

  take(row, buffer) {
    const item = this.view.items?.get(this.row);
    if (!item || item.thumbnail !== `i${row}`) return;
    if (this.large) URL.revokeObjectURL(this.large);
    this.large = address(buffer);
    this.draw();
  }

  draw() {
    const { view } = this, item = this.row === null ? null : view.items.get(this.row);
    this.box.hidden = !item;
    if (!item) { this.box.replaceChildren(); return; }
    const image = Number(item.thumbnail.slice(1));
    const picture = item.thumbnail ? h("img", { src: this.large || view.pictures.urls.get(item.thumbnail), alt: item.captions[0] ?? item.id }) : null;
    const askCaption = caption => h("li", {}, words(caption), " ", h("button", { type: "button", "aria-label": `ask: ${caption}`, onclick: () => view.askText(caption) }, "ask"));
    const term = sign => ({ kind: "image", value: image, sign, name: `image ${view.imageName(item)}`, thumbnail: item.thumbnail });
    const button = (label, onclick, testid) => h("button", { type: "button", onclick, "data-testid": testid }, label);
    const actions = item.thumbnail ? [
      button("Find captions for this image", () => view.askTerm(term(1), "captions"), "ask-image"),
      button("+ image", () => view.add(term(1)), "plus-image"), button("− image", () => view.add(term(-1)))] : [];
    const line = (run, i) => h("tr", {}, words(run, "th", { scope: "row" }), h("td", {}, place(item.ranks[i])), h("td", {}, number(item.scores[i])));
    this.box.replaceChildren(h("div", { class: "wbx-actions wbx-close" }, button("Close", () => view.closeItem(), "close")), picture ?? "",
      h("h3", {}, words(item.id), " ", view.badge(item)), h("ul", {}, item.captions.map(askCaption)),
      table("Rank and score in every run", ["Run", "Rank", "Score"].map(heading), view.answer.runs.map(line)), h("p", { class: "wbx-actions" }, actions));
  }
}
