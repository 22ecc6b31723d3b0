// The static twin of the explorer: everything that it shows lies in the page already.
// Every string of the data reaches the page as text (textContent or a text node), never as markup.
(() => {
  const SHAPES = { own: "●", relevant: "◆", not: "✕", unknown: "○" };
  const NAMES = { own: "own", relevant: "relevant", not: "not relevant", unknown: "not judged" };

  function h(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat().filter(child => child !== null && child !== undefined));
    return made;
  }

  const words = (text, tag = "span", attributes = {}) => h(tag, { dir: "auto", ...attributes }, text);
  const number = (value, digits = 3) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−"));
  const signed = (value, digits) => (value > 0 ? "+" : "") + number(value, digits);
  const captionOf = item => item.captions[0] || item.id;

  class Twin {
    constructor(root) {
      const data = JSON.parse(root.querySelector(".wbt-data").textContent);
      this.view = root.querySelector(".wbt-view");
      this.pictures = new Map(Object.entries(data.pictures));
      this.view.querySelectorAll("img[data-key]").forEach(image => this.pictures.set(image.dataset.key, image.src));
      Object.assign(this, { marks: data.marks, answers: data.answers, at: 0, pins: new Map(), step: 0 });
      this.view.replaceChildren(this.bar(), this.status = h("p", { role: "status", "data-testid": "twin-status" }), this.body = h("div"));
      const kept = this.alone ? new URLSearchParams(location.hash.slice(1)) : new URLSearchParams(), wanted = (kept.get("pins") ?? "").split(",");
      for (const answer of this.answers) {
        const key = item => `${answer.query.seeks} ${item.row}`;
        answer.items.filter(item => answer.pins.includes(item.row) || wanted.includes(key(item))).forEach(item => this.pins.set(key(item), item));
      }
      this.view.addEventListener("keydown", event => this.onKey(event));
      this.show(Number(kept.get("question") ?? 1) - 1 || 0);
    }

    /** A page of its own keeps question and pins in its address, so that a link shows what was looked at. */
    get alone() { return document.documentElement.classList.contains("wbt-page"); }

    remember() {
      if (this.alone) location.replace(`#${new URLSearchParams({ question: this.at + 1, pins: [...this.pins.keys()].join(",") })}`);
    }

    get answer() { return this.answers[this.at]; }

    picture(key, alt) {
      return key && this.pictures.has(key) ? h("img", { src: this.pictures.get(key), alt, decoding: "async" }) : null;
    }

    bar() {
      const options = this.answers.map((answer, i) => h("option", { value: i, dir: "auto" }, `${i + 1}. ${answer.query.label}`));
      this.choice = h("select", { "data-testid": "twin-question", onchange: () => this.show(Number(this.choice.value)) }, options);
      this.back = h("button", { type: "button", onclick: () => this.show(this.at - 1) }, "‹ previous");
      this.next = h("button", { type: "button", "data-testid": "twin-next", onclick: () => this.show(this.at + 1) }, "next ›");
      return h("div", { class: "wbt-bar" }, h("label", {}, h("span", {}, "Question"), this.choice), this.back, this.next);
    }

    show(at) {
      this.at = Math.min(Math.max(at, 0), this.answers.length - 1);
      this.choice.value = String(this.at);
      this.back.disabled = this.at === 0;
      this.next.disabled = this.at === this.answers.length - 1;
      this.step = 0;
      const { query, gallery, passed, runs, grades } = this.answer;
      const filtered = passed === gallery ? "" : `, of which ${passed.toLocaleString("en")} pass the filters`;
      this.status.textContent = `Question ${this.at + 1} of ${this.answers.length}: ${runs.length} run${runs.length > 1 ? "s" : ""}, ` +
        `${gallery.toLocaleString("en")} ${query.seeks}${filtered}, by ${query.measure}, graded by ${grades}.`;
      this.draw();
    }

    draw() {
      const { query, note, truth } = this.answer;
      this.remember();
      this.body.replaceChildren(
        h("div", { class: "wbt-asked" }, this.picture(query.image, "the image that was asked"), words(query.label, "h3")),
        truth ? words(truth, "p", { "data-testid": "twin-truth" }) : "", note ? words(note, "p") : "", this.pinned(), this.columns(), this.legend(), this.walk(), this.edits(), this.effects());
    }

    // Columns: one a run; an item is pinned in all of them

    columns() {
      const items = new Map(this.answer.items.map(item => [item.row, item]));
      return h("div", { class: "wbt-columns", "data-testid": "twin-columns" }, this.answer.columns.map((rows, run) =>
        h("div", { class: "wbt-column", role: "group", "aria-label": this.answer.runs[run] }, words(this.answer.runs[run], "h4"), this.own(run),
          h("ol", {}, rows.map(row => h("li", {}, this.card(items.get(row), run)))))));
    }

    /** Where what is paired with the question stands in a run, also beyond what is shown. */
    own(run) {
      const ranks = this.answer.partners.map(item => `#${item.ranks[run] ?? "–"}`).join(" ");
      return ranks ? h("p", { class: "wbt-own-rank", "data-testid": "twin-own" }, h("span", { class: "wbt-shape wbt-own", "aria-hidden": "true" }, SHAPES.own), ` own ${ranks}`) : null;
    }

    card(item, run) {
      const caption = captionOf(item);
      return h("button", {
        type: "button", class: `wbt-card wbt-${item.mark}`, "data-row": item.row, "aria-pressed": String(this.pins.has(this.pinKey(item))),
        title: "pin: show its rank and score in every run", onclick: () => this.pin(item),
      }, this.picture(item.thumbnail, this.answer.query.seeks === "images" ? caption : ""),
      h("span", { class: "wbt-about" },
        h("span", { class: "wbt-top" }, h("strong", {}, `#${item.ranks[run] ?? "–"}`), h("span", {}, number(item.scores[run])),
          this.mark(item), run ? this.arrow(item, run) : null),
        words(caption, "span", { class: "wbt-caption" })));
    }

    mark(item) {
      const grade = item.grade === null ? "" : ` ${number(item.grade, 2)}`;
      return h("span", { title: this.marks[item.mark] },
        h("span", { class: `wbt-shape wbt-${item.mark}`, "aria-hidden": "true" }, SHAPES[item.mark]), ` ${NAMES[item.mark]}${grade}`);
    }

    arrow(item, run) {
      if (item.ranks[0] === null || item.ranks[run] === null) return null;
      const rise = item.ranks[0] - item.ranks[run];
      if (!rise) return h("span", {}, "= same rank");
      const told = `${Math.abs(rise)} ${rise > 0 ? "higher" : "lower"} than in ${this.answer.runs[0]}`;
      return h("span", { class: rise > 0 ? "wbt-up" : "wbt-down", title: told, role: "img", "aria-label": told }, `${rise > 0 ? "▲" : "▼"}${Math.abs(rise)}`);
    }

    pinKey(item) { return `${this.answer.query.seeks} ${item.row}`; }

    pin(item) {
      const key = this.pinKey(item), run = this.columnInFocus();
      if (!this.pins.delete(key)) this.pins.set(key, item);
      this.draw();
      this.focus(item.row, run);
    }

    columnInFocus() {
      const column = document.activeElement && document.activeElement.closest(".wbt-column");
      return column ? [...column.parentNode.children].indexOf(column) : 0;
    }

    focus(row, run) {
      const columns = [...this.body.querySelectorAll(".wbt-column")];
      const found = columns[run]?.querySelector(`[data-row="${row}"]`) || this.body.querySelector(`[data-row="${row}"]`);
      if (found) found.focus({ preventScroll: true });
    }

    pinned() {
      if (!this.pins.size) return h("p", {}, "Choose an item to pin it. Its rank and score in every run are then shown here, for this question and the next.");
      const now = new Map(this.answer.items.map(item => [this.pinKey(item), item]));
      const lines = [...this.pins].map(([key, item]) => {
        const here = now.get(key);
        const ranks = this.answer.runs.map((_, run) => h("td", {}, here ? `#${here.ranks[run] ?? "–"} (${number(here.scores[run])})` : "not among those shown"));
        const off = h("button", { type: "button", onclick: () => { this.pins.delete(key); this.draw(); } }, "unpin");
        return h("tr", {}, h("td", {}, this.picture(item.thumbnail, "")), words(captionOf(item), "th", { scope: "row" }), ranks, h("td", {}, off));
      });
      return this.table("Pinned: rank and score in every run", ["picture", "item", ...this.answer.runs, "remove"], lines, "twin-pins");
    }

    legend() {
      return h("ul", { class: "wbt-legend", "aria-label": "Marks" }, Object.entries(this.marks).map(([mark, told]) =>
        h("li", {}, h("span", { class: `wbt-shape wbt-${mark}`, "aria-hidden": "true" }, SHAPES[mark]), ` ${NAMES[mark]}: ${told}`)));
    }

    table(caption, heads, lines, testid) {
      return h("div", { class: "wbt-scroll", tabindex: "0", role: "region", "aria-label": caption, "data-testid": testid },
        h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads.map(head => words(head, "th", { scope: "col" })))), h("tbody", {}, lines)));
    }

    // The way from the question to the root, and what changes when the question does

    walk() {
      const { way, runs } = this.answer;
      if (!way.length) return "";
      const steps = [...new Set(way.map(step => step.walk))].sort((a, b) => a - b);
      const shown = h("div", { class: "wbt-columns", "data-testid": "twin-way" });
      const told = h("output", {});
      const slider = h("input", { type: "range", min: 0, max: steps.length - 1, step: 1, value: this.step, "data-testid": "twin-walk" });
      const move = () => {
        this.step = Number(slider.value);
        const share = `${Math.round(100 * steps[this.step])} % of the way to the root`;
        told.textContent = share;
        slider.setAttribute("aria-valuetext", share);
        shown.replaceChildren(...runs.map((run, i) => this.nearest(run, way.find(step => step.run === i && step.walk === steps[this.step]))));
      };
      slider.addEventListener("input", move);
      move();
      return h("section", { class: "wbt-part", "aria-label": "Walk to the root" }, words("Walk to the root: from specific to generic", "h3"),
        h("p", {}, "The root is the embedding of the empty text, the most generic query. Each step shows the image and the caption nearest to the point on the way."),
        h("label", {}, h("span", {}, "walk "), slider, " ", told), shown);
    }

    nearest(run, step) {
      if (!step) return h("div", {}, words(run, "h4"), "no walk was made for this run");
      const level = step.level === null ? "" : `, level ${step.level}`;
      return h("div", { class: "wbt-column" }, words(run, "h4"), h("div", { class: "wbt-card" },
        this.picture(step.thumbnail, `nearest image: ${step.image}`),
        h("span", { class: "wbt-about" }, h("span", { class: "wbt-top" }, `cosine ${number(step.cosine)}${level}`), words(step.text))));
    }

    edits() {
      const { edits, runs, items, watched } = this.answer;
      if (!edits.length) return "";
      const base = edits.find(edit => edit.kind === "remade") || edits[0];
      const lines = edits.map(edit => h("tr", {}, words(edit.label, "th", { scope: "row" }), words(edit.sentence, "td"),
        runs.map((_, run) => h("td", {}, edit === base || edit.kind === "asked"
          ? `${number(edit.scores[run])}, #${edit.ranks[run]}` : this.change(edit, base, run)))));
      const item = items.find(one => one.row === watched);
      return h("section", { class: "wbt-part", "aria-label": "Counterfactual edits" }, words("What if the question said something else? Edits of its scene graph", "h3"),
        item ? h("p", {}, "Score and rank of ", words(captionOf(item)), " ",
          h("button", { type: "button", "data-testid": "twin-watched", onclick: () => this.pin(item) }, this.pins.has(this.pinKey(item)) ? "unpin it" : "pin it")) : null,
        this.table("Change of score and rank, compared with the sentence rewritten from the unedited graph", ["edit", "sentence", ...runs], lines, "twin-edits"));
    }

    change(edit, base, run) {
      const by = edit.scores[run] - base.scores[run], places = base.ranks[run] - edit.ranks[run];
      const told = places ? `${Math.abs(places)} ${places > 0 ? "up" : "down"}, ` : "";
      return h("span", { class: by < 0 ? "wbt-down" : by > 0 ? "wbt-up" : "" }, `${signed(by)}, ${told}#${edit.ranks[run]}`);
    }

    effects() {
      const { words: found, runs } = this.answer;
      if (!found.length) return "";
      const lines = found.map(word => h("tr", {}, words(word.text, "th", { scope: "row" }), word.effects.map(effect => h("td", {}, signed(effect)))));
      return h("section", { class: "wbt-part", "aria-label": "Effect of each word" }, words("How much each word matters", "h3"),
        this.table("Fall of the score when the word is left out", ["word", ...runs], lines, "twin-words"));
    }

    // Arrow keys go from card to card: up and down in a column, left and right between columns

    onKey(event) {
      const card = event.target.closest("button.wbt-card");
      if (!card || !["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const columns = [...this.body.querySelectorAll("[data-testid='twin-columns'] .wbt-column")].map(column => [...column.querySelectorAll("button.wbt-card")]);
      let column = columns.findIndex(cards => cards.includes(card)), line = columns[column].indexOf(card);
      if (event.key === "ArrowUp" || event.key === "ArrowDown") line += event.key === "ArrowUp" ? -1 : 1;
      else column += event.key === "ArrowLeft" ? -1 : 1;
      const cards = columns[column] || [];
      const next = cards[Math.min(line, cards.length - 1)];
      event.preventDefault();
      if (next) next.focus();
    }
  }

  document.querySelectorAll(".wbt:not([data-ready])").forEach(root => {
    root.dataset.ready = "true";
    new Twin(root);
  });
})();
