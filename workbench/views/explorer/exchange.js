// One question under way at a time: what is asked, what comes back, and how long it took.

import { counted, DEBOUNCE } from "./parts.js";

/** @import { Answer, Question, Term } from "./types.d.ts" */
/** @import { View } from "./explorer.js" */

export const BATCH = 24; // items of a column that are fetched at least when more are wanted

export class Exchange {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** The number of the newest question, whether it is under way, and whether another one waits. */
    this.asked = 0;
    this.busy = false;
    this.again = false;
    /** @type {number | null} */
    this.began = null;
    this.sent = 0;
    this.took = DEBOUNCE;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {Question | null} */
    this.last = null;
    /** The last question without its number of answers, and how it was looked at. */
    this.same = "";
    this.looks = view.questions.state();
    this.moreThere = false;
    this.goOn = false;
  }

  askLater() {
    this.began = performance.now();
    clearTimeout(this.timer);
    // where answers come at once, every key is a question; where they take long, the next key is waited for
    this.timer = setTimeout(() => this.ask(), Math.min(DEBOUNCE, this.took / 5));
  }

  /** Ask now. One question is under way at a time; the newest waits, the ones between are never sent. */
  ask() {
    clearTimeout(this.timer);
    this.view.bar.askedK = this.view.bar.k.value;
    this.began ??= performance.now();
    if (this.busy) {
      this.again = true;
      return;
    }
    this.again = false;
    const question = this.prepare();
    if (question) this.put(question);
  }

  /** The question that the page holds now, kept as the last one; null where nothing is asked. */
  prepare() {
    const terms = this.view.query.terms();
    if (!terms.some(term => term.sign > 0)) {
      this.began = null;
      this.view.say("Type a sentence, or choose an image or a caption from the data.");
      return null;
    }
    const question = this.question(terms);
    const same = JSON.stringify([terms, question.seeks, question.settings, question.filters]);
    // what was asked before keeps as many answers as it has
    if (same === this.same) question.k = Math.max(question.k, this.shown);
    else this.view.main.scrollTop = 0;
    this.last = question;
    this.same = same;
    this.looks = this.view.questions.state();
    return question;
  }

  /** Ask for the answers that follow those that are there; `goOn` = the focus goes to the first of them. */
  askMore(goOn = false) {
    if (this.busy || this.view.kernel.gone || !this.moreThere || !this.last) return;
    this.goOn = goOn;
    this.put({ ...this.last, skip: this.shown, k: Math.max(BATCH, this.last.k), shown: [] });
  }

  /** @param {Question} question */
  put(question) {
    this.asked += 1;
    this.sent = performance.now();
    this.busy = !this.view.kernel.gone;
    if (this.busy) this.view.root.setAttribute("aria-busy", "true");
    this.view.kernel.wait();
    this.send({ kind: "ask", page: this.view.thumbnails.page, question }, `${this.view.name}-${this.asked}`);
  }

  /**
   * Whether a message is the answer to the newest question; where one waits, it is asked now.
   * @param {{ number: string }} message
   */
  free(message) {
    if (!this.isLast(message)) return false;
    this.busy = false;
    this.took = performance.now() - this.sent;
    this.view.root.removeAttribute("aria-busy");
    if (!this.again) return true;
    this.ask();
    return false;
  }

  /** @param {{ number: string }} message */
  isLast(message) {
    return message.number === `${this.view.name}-${this.asked}`;
  }

  /** How many answers the longest column has. */
  get shown() {
    return Math.max(0, ...(this.view.answer?.columns ?? []).map(column => column.length));
  }

  /**
   * @param {Term[]} terms
   * @returns {Question}
   */
  question(terms) {
    const { panels } = this.view;
    return {
      terms,
      seeks: this.view.query.seeks.value,
      k: Math.max(1, Math.round(Number(this.view.bar.k.value)) || this.view.config.k),
      skip: 0,
      pins: this.view.pins,
      watched: this.view.watched,
      settings: panels.applied(terms),
      shown: [...panels.open],
      filters: { ...this.view.filters.values(), images: this.view.bar.only.checked ? this.view.selected() : [] },
    };
  }

  /**
   * @param {{ kind: string, [field: string]: unknown }} message
   * @param {string | null} id
   * @param {ArrayBuffer[]} buffers
   */
  send(message, id = null, buffers = []) {
    this.view.trouble.textContent = "";
    this.view.kernel.send({ ...message, number: id ?? `${this.view.name}-${message.kind}` }, buffers);
  }

  // Receiving

  /**
   * @param {any} message
   * @param {DataView[]} buffers
   */
  receive(message, buffers) {
    if (message.keys) this.view.thumbnails.keep(message.keys, buffers);
    if (!String(message.number).startsWith(`${this.view.name}-`)) return;
    if (this.view.kernel.heard(this.isLast(message))) this.view.trouble.textContent = "";
    /** @type {Record<string, () => void>} */
    const kinds = {
      answer: () => this.onAnswer(message),
      error: () => this.onError(message),
      uploaded: () => this.view.query.add({ kind: "upload", value: message.index, name: message.name, sign: 1 }),
      suggestions: () => this.view.query.offer(message.found),
      disagreements: () => this.view.differ.take(message.found),
      exported: () => this.view.say(`Written: ${message.path}`),
      queries: () => this.view.queries.selection.take(message.table, buffers),
      condition: () => this.view.queries.learnt(message, buffers),
      thumbnails: () => this.view.queries.lines.draw(),
      "saved-slice": () => this.view.queries.saved(message.name),
      opened: () => this.view.inspector.take(message.row, buffers[0]),
    };
    kinds[message.kind]?.();
  }

  /** @param {{ number: string, answer: Answer }} message */
  onAnswer(message) {
    if (!this.free(message)) return;
    const { answer } = message;
    if (answer.skip) this.onMore(answer);
    else {
      this.view.answer = answer;
      this.view.query.hold(answer.query.text);
      this.moreThere = this.shown > 0 && this.shown < answer.passed;
      this.view.draw();
      this.view.questions.note(answer.query.label);
    }
    this.report(answer);
  }

  /** @param {Answer} more */
  onMore(more) {
    const { goOn, shown } = this;
    const { answer, gallery, items } = this.view;
    if (!answer) return;
    const card = /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest(".wbx-card"));
    more.items.forEach(item => items.set(item.row, item));
    answer.columns.forEach((column, run) => column.push(...more.columns[run]));
    answer.items = [...items.values()];
    this.goOn = false;
    this.moreThere = this.shown > shown && this.shown < answer.passed;
    gallery.append(more.columns);
    if (goOn && card) {
      const cards = gallery.cards(card);
      gallery.focus(cards[cards.indexOf(card) + 1]);
    }
  }

  /** @param {{ number: string, text: string }} message */
  onError(message) {
    this.view.trouble.textContent = message.text;
    if (message.number === `${this.view.name}-disagreements`) this.view.differ.list.replaceChildren();
    if (["queries", "condition"].some(kind => message.number === `${this.view.name}-${kind}`))
      this.view.queries.selection.fail(message.text);
    if (this.free(message)) this.began = null;
  }

  onLost() {
    this.busy = this.again = false;
    this.view.root.removeAttribute("aria-busy");
    this.view.trouble.textContent = "The kernel is gone; what stands here are old answers. Run the cell again.";
  }

  /**
   * Report what was found and how long it took, from the key press to the last decoded thumbnail.
   * @param {Answer} more the answer, or the part of it that came last
   */
  async report(more) {
    const { answer } = this.view;
    const began = this.began ?? performance.now();
    this.began = null;
    const fresh = [...this.view.root.querySelectorAll("img")].filter(image => !this.view.decoded.has(image));
    fresh.forEach(image => this.view.decoded.add(image));
    await Promise.all(fresh.map(image => image.decode().catch(() => null)));
    if (answer !== this.view.answer) return;
    if (!more.skip) this.view.gallery.fit();
    const passed = more.passed === more.gallery ? "" : ` of the ${counted(more.passed)} that pass the filters,`;
    const took = Math.round(performance.now() - began);
    this.view.status.dataset.milliseconds = String(took);
    const of = `${counted(more.gallery)} ${more.query.seeks} · ${more.query.measure}`;
    this.view.say(`${counted(this.shown)}${passed} of ${of} · ${took} ms`);
  }
}
