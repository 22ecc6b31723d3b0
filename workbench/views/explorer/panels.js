// What stands beside the answers: the scene graph that can be edited, the way to the root, the effect of words, and the
// questions on which runs disagree. Each draws the view's answer into a box of its own.

const PARTS = ["objects", "attributes", "relations"];

/** The scene graph of the question: drop or swap a part and see what that does. */
class GraphPanel {
  constructor(view) { Object.assign(this, { view, box: h("div"), changes: [], vocabulary: {} }); }

  draw() {
    const { graph, edits } = this.view.answer, { name } = this.view;
    if (!graph) { this.box.replaceChildren(h("p", { class: "wbx-dim" }, "Only a question that is a single text has a scene graph to edit.")); return; }
    const lists = PARTS.map(part => h("datalist", { id: `${name}-${part}` }, (this.vocabulary[part] || []).map(word => h("option", { value: word }))));
    const groups = PARTS.filter(part => graph[part].length).map(part => h("div", { class: "wbx-parts", role: "group", "aria-label": part },
      h("span", { class: "wbx-dim" }, part), graph[part].map((_, index) => this.part(graph, part, index))));
    const button = (testid, label, change) => h("button", { type: "button", "data-testid": testid, disabled: !this.changes.length,
      onclick: () => { change(); this.view.ask(); } }, label);
    this.box.replaceChildren(...lists, ...groups,
      h("p", {}, button("undo", "Undo", () => this.changes.pop()), " ", button("reset", "Reset", () => { this.changes = []; }), " ",
        h("span", { class: "wbx-dim" }, this.view.ofWatched("Scores and ranks of"))), this.edits(edits));
  }

  part(graph, part, index) {
    const value = graph[part][index];
    const name = node => graph.objects[node];
    const [before, word, after] = part === "objects" ? ["", value, ""] : part === "attributes" ? ["", value[1], ` ${name(value[0])}`] : [`${name(value[0])} `, value[1], ` ${name(value[2])}`];
    let done = false;
    const change = to => {
      if (done) return;
      done = true;
      this.changes.push({ part, index, word: to });
      this.view.ask();
    };
    const swap = event => { const to = event.target.value.trim(); if (to && to !== word) change(to); };
    const input = h("input", {
      type: "text", value: word, list: `${this.view.name}-${part}`, "aria-label": `another word for ${word}`, "data-testid": `swap-${part}-${index}`, autocomplete: "off",
      size: Math.max(4, Math.min(24, word.length + 2)), onfocus: event => event.target.select(),
      onchange: swap,
      // with a list open, Enter closes it and tells of no change
      onkeydown: event => { if (event.key === "Enter") { event.preventDefault(); swap(event); } },
    });
    const only = part === "objects" && graph.objects.length < 2;
    return h("span", { class: "wbx-part" }, before ? words(before) : null, input, after ? words(after) : null,
      only ? null : h("button", { type: "button", "aria-label": `drop ${word}`, "data-testid": `drop-${part}-${index}`, onclick: () => change("") }, "✕"));
  }

  edits(edits) {
    if (!edits.length) return h("p", { class: "wbx-dim" }, "Scores and ranks of edits are shown when the question asks for images.");
    const remade = edits.find(edit => edit.kind === "remade");
    const cell = (edit, run) => {
      const change = edit.scores[run] - remade.scores[run];
      const compared = ["edited", "drop"].includes(edit.kind);
      const ranks = compared && edit.ranks[run] !== remade.ranks[run] ? `#${remade.ranks[run]} → #${edit.ranks[run]}` : `#${edit.ranks[run]}`;
      return h("td", {}, h("span", { class: "wbx-num" }, compared ? signed(change) : number(edit.scores[run])), " ", h("b", {}, ranks));
    };
    const line = edit => h("tr", { class: `wbx-${edit.kind}`, "data-testid": `edit-${edit.kind}` }, words(edit.label, "th", { scope: "row" }), words(edit.sentence, "td"),
      this.view.answer.runs.map((_, run) => cell(edit, run)));
    return h("div", {}, table("Edits", [heading("What"), heading("Sentence"), ...this.view.runHeads()], edits.map(line)),
      h("p", { class: "wbx-dim" }, "Scores are compared with the sentence rewritten from the unedited graph, so that a change of wording alone does not count."));
  }
}

/** The way from the question to the root, the embedding of the empty text. */
class WayPanel {
  constructor(view) {
    Object.assign(this, { view, walk: 0, box: h("div") });
    this.slider = h("input", { type: "range", min: 0, max: 1, step: 0.1, value: 0, "data-testid": "walk", "aria-label": "share of the way to the root",
      oninput: event => { this.walk = Number(event.target.value); this.mark(); view.askLater(); } });
    this.said = h("output", { "data-testid": "walk-said" });
    this.steps = h("div");
    this.box.append(h("label", { class: "wbx-field wbx-inline" }, h("span", {}, "The query"), this.slider, h("span", {}, "the root "), this.said),
      h("p", { class: "wbx-dim" }, "The root is the embedding of the empty text, the most generic query. The slider moves the query along the sphere towards it, and the results follow. The table shows the nearest image, the nearest caption and its cosine at each step."), this.steps);
  }

  draw() {
    const { way, runs } = this.view.answer, { pictures } = this.view;
    const go = walk => { this.slider.value = this.walk = walk; this.mark(); this.view.ask(); };
    const head = walk => h("th", { scope: "row", "data-walk": walk }, h("button", { type: "button", class: "wbx-link", onclick: () => go(walk) }, `${Math.round(100 * walk)} %`));
    const cell = step => h("td", { "data-walk": step.walk }, pictures.image(step.thumbnail, `image ${step.image}`),
      words(step.text, "span", { class: "wbx-caption", title: step.text }),
      h("span", { class: "wbx-dim" }, `${step.level === null ? "" : `level ${step.level}, `}${number(step.cosine, 2)}`));
    const line = walk => h("tr", {}, head(walk), runs.map((_, run) => cell(way.find(step => step.run === run && step.walk === walk))));
    this.steps.replaceChildren(table("Steps of the way", [heading("Way"), ...this.view.runHeads()], unique(way.map(step => step.walk)).map(line), { class: "wbx-table wbx-way" }));
    this.mark();
  }

  mark() {
    this.said.textContent = `${Math.round(100 * this.walk)} %`;
    this.steps.querySelectorAll("[data-walk]").forEach(line => {
      if (Math.abs(Number(line.dataset.walk) - this.walk) < 0.01) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    });
  }
}

/** How far the score falls without each word. */
class WordsPanel {
  constructor(view) { Object.assign(this, { view, box: h("div") }); }

  draw() {
    const found = this.view.answer.words;
    if (!found.length) { this.box.replaceChildren(h("p", { class: "wbx-dim" }, "Ask for images with a text of at least two words.")); return; }
    const most = Math.max(1e-9, ...found.flatMap(word => word.effects.map(Math.abs)));
    const bar = effect => h("td", {}, h("span", { class: `wbx-effect ${effect < 0 ? "wbx-less" : ""}`, style: `width:${(60 * Math.abs(effect)) / most}px` }), h("span", { class: "wbx-num" }, signed(effect)));
    const line = word => h("tr", {}, words(word.text, "th", { scope: "row" }), word.effects.map(bar));
    this.box.replaceChildren(
      h("p", { class: "wbx-dim" }, `How far the score falls when a word is left out; striped bars are words without which it rises. These are not attention weights. ${this.view.ofWatched("Scores of")}`),
      table("Effect of each word", [heading("Word"), ...this.view.runHeads()], found.map(line)));
  }
}

/** The captions on which the runs disagree: a list, and a step from one to the next. */
class Disagreements {
  constructor(view) {
    Object.assign(this, { view, found: null, at: -1, step: 0, box: h("div", { class: "wbx-differ", "data-testid": "disagreements" }) });
    this.told = h("span", { class: "wbx-num", "data-testid": "disagreement" });
    const ways = [["rank", "rank of the own image"], ...(view.config.graded ? [["grade", "grade of the first image"]] : [])];
    this.by = h("select", { "data-testid": "differ-by", onchange: () => this.load(0) }, ways.map(([value, told]) => h("option", { value }, told)));
    this.list = h("div");
    this.box.append(h("label", { class: "wbx-field wbx-inline" }, h("span", {}, "Captions on which the runs differ most, by"), this.by), this.list);
  }

  /** Ask for the list; `step` is taken in it once it is there. */
  load(step) {
    Object.assign(this, { found: null, at: -1, step });
    this.list.replaceChildren(h("p", {}, "Ranking every caption in every run …"));
    this.view.send({ kind: "disagreements", by: this.by.value, page: this.view.pictures.page });
  }

  take(found) {
    this.found = found;
    this.draw();
    if (this.step) this.go(this.step);
  }

  go(step) {
    if (this.view.config.runs.length < 2) { this.view.say("A single run disagrees with nobody: open the explorer on two or more."); return; }
    if (!this.found) { this.load(step); return; }
    if (this.found.length) this.ask((Math.max(this.at, step < 0 ? 0 : -1) + step + this.found.length) % this.found.length);
  }

  ask(at) {
    const { row, text, kind, thumbnail } = this.found[at];
    this.at = at;
    this.told.textContent = `${at + 1} of ${counted(this.found.length)}`;
    this.box.querySelectorAll("tbody tr").forEach((line, i) => line.toggleAttribute("aria-current", i === at));
    if (kind === "text") this.view.askText(text);
    else this.view.askTerm({ kind, value: row, sign: 1, name: text, thumbnail }, "images");
  }

  draw() {
    const { runs, marks } = this.view.config, graded = this.found.some(one => one.grades.length);
    if (!this.found.length) { this.list.replaceChildren(h("p", {}, "The runs agree on every caption.")); return; }
    const told = (one, run) => [h("b", {}, place(one.ranks[run])), graded ? ` grade ${number(one.grades[run], 2)}` : null];
    const line = (one, i) => h("tr", {}, h("th", { scope: "row" }, h("button", { type: "button", class: "wbx-link", "data-testid": "differs",
      onclick: () => { this.ask(i); this.view.show("gallery"); } },
    this.view.pictures.image(one.thumbnail, ""), words(one.text, "span", { class: "wbx-caption" }))),
    runs.map((_, run) => h("td", { class: one.ranks[run] === Math.min(...one.ranks) ? "wbx-best" : null }, told(one, run))));
    this.list.replaceChildren(h("p", { class: "wbx-dim" }, `The number is the rank of the image that is ${marks.own}${graded ? "; the grade is that of the image which the run puts first" : ""}. One caption an image.`),
      table("Disagreements", [heading("Caption"), ...runs.map(run => words(run, "th", { scope: "col" }))], this.found.map(line)));
  }
}
