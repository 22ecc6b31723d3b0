// Questions that are kept: those that have a name and tags, and the last ones that were asked; all of them in one file.

const LAST = 30; // questions that the history keeps
const STOOD = 2000; // ms after which a question was read, and was not only passed on the way to a longer one
const FORMAT = "workbench explorer, questions";

class Questions {
  constructor(view) {
    Object.assign(this, { view, history: [], noted: 0 });
    const field = (testid, label) => h("input", { type: "text", "data-testid": testid, "aria-label": label, placeholder: label, dir: "auto", autocomplete: "off" });
    [this.name, this.tags, this.wanted] = [field("save-name", "name"), field("save-tags", "tags"), field("save-find", "find by name or tag")];
    this.wanted.addEventListener("input", () => this.draw());
    this.saved = h("ul", { "data-testid": "saved", "aria-label": "Saved questions" });
    this.past = h("ul", { "data-testid": "history", "aria-label": "History" });
    const file = h("input", { type: "file", accept: ".json,application/json", "data-testid": "load-questions", onchange: () => this.load(file) });
    const button = (testid, label, onclick) => h("button", { type: "button", "data-testid": testid, onclick }, label);
    this.box = h("details", { "data-testid": "questions" }, h("summary", {}, "Questions: saved and asked"), h("div", { class: "wbx-panel-body" },
      h("div", { class: "wbx-save" }, this.name, this.tags, button("save", "Save", () => this.save())),
      h("div", { class: "wbx-save" }, button("export-questions", "Export to a file", () => this.export()), h("label", { class: "wbx-file" }, h("span", {}, "Load a file"), file)),
      this.wanted, this.saved, h("h3", {}, "Last asked"), this.past));
    this.draw();
  }

  get kept() { return this.view.model.get("saved") ?? []; }

  keep(questions) {
    this.view.model.set("saved", questions);
    this.view.model.save_changes();
    this.draw();
  }

  /** A picture or a vector that was handed in lies in the kernel alone, and cannot be asked again from a file. */
  get loose() { return this.view.last.terms.some(term => term.kind === "upload"); }

  /** Every answered question is the newest of the history, once; half-typed words give way to what they become. */
  note(name) {
    if (this.loose) return;
    const [newest] = this.history, now = performance.now();
    const passing = newest && now - this.noted < STOOD && (name.startsWith(newest.name) || newest.name.startsWith(name));
    this.noted = now;
    this.history = [{ name, tags: [], state: this.view.looks }, ...this.history.slice(passing ? 1 : 0).filter(one => one.name !== name)].slice(0, LAST);
    this.draw();
  }

  save() {
    const { answer, last } = this.view;
    if (!answer) return;
    const name = this.name.value.trim() || answer.query.label;
    const tags = unique(this.tags.value.split(/[\s,]+/).filter(Boolean));
    if (this.loose) { this.view.say("A picture or vector that was handed in is not kept with a question; remove it first."); return; }
    this.keep([...this.kept.filter(one => one.name !== name), { name, tags, state: this.view.state(), question: { ...last, skip: 0 } }]);
    this.name.value = this.tags.value = "";
    this.view.say(`Saved: ${name}`);
  }

  export() {
    const content = { format: FORMAT, split: this.view.config.split, questions: this.kept, history: this.history };
    const link = h("a", { href: URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: "application/json" })), download: "questions.json" });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  async load(file) {
    const text = await file.files[0]?.text();
    file.value = "";
    if (text === undefined) return;
    let found = {};
    try { found = JSON.parse(text); } catch { /* told below */ }
    const kept = one => typeof one?.name === "string" && Array.isArray(one.tags) && Array.isArray(one.state?.chips);
    const whole = found?.format === FORMAT && [found.questions, found.history].every(all => Array.isArray(all) && all.every(kept));
    const same = found?.split === this.view.config.split;
    this.view.trouble.textContent = !whole ? "This is no file of questions; choose one that was exported here." : same ? "" : `These questions are of ${found.split}, and this is ${this.view.config.split}, whose rows are others.`;
    if (!whole || !same) return;
    const named = new Map([...this.kept, ...found.questions].map(one => [one.name, one]));
    this.history = [...this.history, ...found.history].slice(0, LAST);
    this.keep([...named.values()]);
  }

  draw() {
    const wanted = this.wanted.value.trim().toLowerCase();
    const fits = one => [one.name, ...one.tags].some(word => word.toLowerCase().includes(wanted));
    const again = one => h("button", { type: "button", class: "wbx-link", onclick: () => this.view.restore(one.state) }, words(one.name, "span", { class: "wbx-caption" }));
    this.saved.replaceChildren(...this.kept.filter(fits).map(one => h("li", {}, again(one), one.tags.map(tag => h("span", { class: "wbx-tag" }, tag)),
      h("button", { type: "button", "aria-label": `forget ${one.name}`, onclick: () => this.keep(this.kept.filter(other => other.name !== one.name)) }, "✕"))));
    this.past.replaceChildren(...this.history.map(one => h("li", {}, again(one))));
  }
}
