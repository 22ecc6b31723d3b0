// The answers themselves: a column of cards for each run, the pinned items, and the keys that walk among them.

import {
  better,
  correct,
  counted,
  elements,
  h,
  heading,
  MARK_NAMES,
  number,
  place,
  shape,
  table,
  words,
} from "./parts.js";
import { GAP, middle, proportion, tile } from "./tiles.js";

/** @import { Item } from "./types.d.ts" */
/** @import { View } from "./explorer.js" */

export class Gallery {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.top = 0;
    /** How many items the longest column began with. */
    this.count = 0;
    const tell = (/** @type {Event} */ event) => this.tell(event);
    const attributes = { class: "wbx-columns", "data-testid": "columns" };
    this.columns = h("div", { ...attributes, onpointerover: tell, onfocusin: tell });
    this.said = h("div", { class: "wbx-said", "aria-hidden": "true", "data-testid": "said" });
    this.more = h("button", {
      type: "button",
      class: "wbx-more",
      "data-testid": "more",
      onclick: () => view.exchange.askMore(),
    });
    this.pins = h("div", { class: "wbx-pins", "data-testid": "pins" });
  }

  get layout() {
    return this.view.layout ?? (this.view.drawn.query.seeks === "images" ? "grid" : "list");
  }

  /**
   * What is said of a card that is pointed at, in a line that covers nothing.
   * @param {Event} event
   */
  tell({ target }) {
    const card = target instanceof Element ? target.closest(".wbx-card") : null;
    const item = card instanceof HTMLElement ? this.view.items.get(Number(card.dataset.row)) : null;
    if (!item || !(card instanceof HTMLElement)) return;
    const place = `#${item.ranks[Number(card.dataset.run)]}, ${MARK_NAMES[item.mark]}: `;
    this.said.replaceChildren(h("b", {}, place), words(item.captions.join(" · ") || item.id));
  }

  /** The images of a grid are as large as the pane lets them be, unless somebody has chosen a size. */
  fit() {
    const { root, main, bar } = this.view;
    const list = this.columns.querySelector("ol");
    const ratio = middle(elements(this.columns, "img").flatMap(proportion));
    if (ratio) root.style.setProperty("--wbx-ratio", String(ratio));
    root.style.removeProperty("--wbx-tile");
    if (bar.sized || !list || !main.clientHeight || this.layout !== "grid") return;
    const above = list.getBoundingClientRect().top - main.getBoundingClientRect().top + main.scrollTop;
    const height = main.clientHeight - above - (this.more.hidden ? 0 : this.more.offsetHeight + 2 * GAP);
    const side = tile(this.count, list.clientWidth, height, ratio || 4 / 3);
    if (side) root.style.setProperty("--wbx-tile", `${side}px`);
  }

  draw() {
    const focus = elements(this.columns, ".wbx-card:focus").at(0)?.dataset,
      runs = this.view.order();
    this.columns.className = `wbx-columns wbx-${this.layout} ${runs.length === 1 ? "wbx-single" : "wbx-several"}`;
    this.columns.style.setProperty("--wbx-runs", String(runs.length));
    this.columns.replaceChildren(...runs.map(run => this.column(run)));
    this.top = this.view.main.scrollTop; // from where somebody scrolls on
    this.count = Math.max(0, ...this.view.drawn.columns.map(column => column.length));
    this.said.replaceChildren();
    this.drawMore();
    this.drawPins();
    this.mark();
    this.fit();
    if (!focus) return;
    const card = this.card(focus.run, focus.row) ?? elements(this.columns, ".wbx-card").at(0);
    card?.focus({ preventScroll: true });
  }

  /** @param {number} run */
  column(run) {
    const { drawn: answer, base } = this.view,
      rows = answer.columns[run];
    const empty = h(
      "p",
      { class: "wbx-empty" },
      answer.query.seeks === "entities" ? "This run embeds no entities." : "Nothing passes the filters.",
    );
    const told =
      this.view.order().length > 1 && run === base
        ? h(
            "span",
            { class: "wbx-dim", title: "arrows say how far an item stands from its rank in this run" },
            " reference",
          )
        : null;
    return h(
      "section",
      { class: "wbx-column", "data-run": run, "data-testid": `column-${run}`, "aria-label": `Run ${answer.runs[run]}` },
      h("div", { class: "wbx-head" }, h("h3", {}, words(answer.runs[run]), told), this.right(run), this.known(run)),
      rows.length
        ? h(
            "ol",
            {},
            rows.map((row, at) => this.item(this.view.item(row), run, at)),
          )
        : empty,
    );
  }

  /**
   * How many of the answers that a run shows are right.
   * @param {number} run
   */
  right(run) {
    const { drawn: answer } = this.view;
    const told = correct(answer.columns[run].map(row => this.view.item(row).mark));
    return h(
      "span",
      { class: "wbx-right", "data-testid": "right", title: `by the judgements “${answer.grades}”` },
      told,
    );
  }

  /**
   * Where the item that belongs to the question and the pinned ones stand in this run, also beyond what is shown.
   * @param {number} run
   */
  known(run) {
    const { drawn: answer, pins, items } = this.view,
      shown = answer.columns[run].length;
    const one = (/** @type {Item} */ item, /** @type {string | Node} */ name, /** @type {string} */ kind) =>
      h(
        "button",
        {
          type: "button",
          class: `wbx-known ${(item.ranks[run] ?? 0) > shown ? "wbx-below" : ""}`,
          "data-testid": kind,
          title: item.captions[0] ?? item.id,
          onclick: () => this.view.openItem(item.row),
        },
        name,
        h("strong", {}, place(item.ranks[run])),
      );
    const own = answer.partners.map((item, i) => one(item, i ? "" : h("span", {}, shape("own"), " own "), "own-rank"));
    return h(
      "div",
      { class: "wbx-places" },
      own,
      pins.filter(row => items.has(row)).map((row, i) => one(this.view.item(row), `pin ${i + 1} `, "pin-rank")),
    );
  }

  /**
   * @param {Item} item
   * @param {number} run
   * @param {number} at
   */
  item(item, run, at) {
    const { view } = this,
      caption = item.captions[0] ?? "",
      rank = item.ranks[run];
    const said = `Rank ${rank}, ${MARK_NAMES[item.mark]}: ${caption}`;
    const top = h(
      "span",
      { class: "wbx-top" },
      h("b", {}, `#${rank}`),
      item.count > 1 ? h("span", { title: `${item.count} captions read so` }, `×${item.count}`) : null,
      this.arrow(item, run),
      h("span", { class: "wbx-score" }, number(item.scores[run])),
      view.badge(item),
    );
    const card = h(
      "button",
      {
        type: "button",
        class: "wbx-card",
        tabindex: at ? -1 : 0,
        "data-row": item.row,
        "data-run": run,
        "data-testid": "card",
        onclick: () => view.openItem(item.row),
      },
      item.thumbnail ? view.thumbnails.image(item.thumbnail, said) : null,
      h("span", { class: "wbx-about" }, top, words(caption, "span", { class: "wbx-caption" })),
    );
    return h(
      "li",
      { class: `wbx-item wbx-is-${item.mark} ${item.thumbnail ? "wbx-with-image" : ""}`, "data-row": item.row },
      card,
      h(
        "span",
        { class: "wbx-tools" },
        this.toggle("pin", item, view.pins.includes(item.row), () => view.pin(item.row)),
        view.drawn.query.seeks === "images"
          ? this.toggle("select", item, view.selected().includes(item.row), () => view.select(item.row))
          : null,
      ),
    );
  }

  /**
   * @param {string} name
   * @param {Item} item
   * @param {boolean} pressed
   * @param {() => void} onclick
   */
  toggle(name, item, pressed, onclick) {
    return h(
      "button",
      {
        type: "button",
        class: `wbx-${name}`,
        tabindex: -1,
        "aria-pressed": String(pressed),
        "aria-label": `${name} ${item.id}`,
        "data-testid": name,
        onclick,
      },
      name,
    );
  }

  /**
   * @param {Item} item
   * @param {number} run
   */
  arrow(item, run) {
    const { base, drawn: answer } = this.view,
      [here, there] = [item.ranks[run], item.ranks[base]];
    if (run === base || here === null || there === null) return null;
    const change = there - here;
    const sign = change > 0 ? "▲" : change < 0 ? "▼" : "=";
    const said = change
      ? `${Math.abs(change)} places ${change > 0 ? "higher" : "lower"} than in ${answer.runs[base]}`
      : "same rank";
    return h(
      "span",
      { class: `wbx-arrow wbx-${better(item.mark, change)}`, role: "img", title: said, "aria-label": said },
      sign + (change ? Math.abs(change) : ""),
    );
  }

  /**
   * Put the cards that follow behind those that stand there.
   * @param {number[][]} columns
   */
  append(columns) {
    for (const run of this.view.order()) {
      const list = this.columns.querySelector(`.wbx-column[data-run="${run}"] ol`),
        { length } = this.view.drawn.columns[run];
      const from = length - columns[run].length;
      list?.append(...columns[run].map((row, i) => this.item(this.view.item(row), run, from + i)));
      this.columns.querySelector(`.wbx-column[data-run="${run}"] .wbx-right`)?.replaceWith(this.right(run));
    }
    this.drawMore();
    this.mark();
  }

  drawMore() {
    const { shown, moreThere } = this.view.exchange,
      { drawn: answer } = this.view,
      least = Math.min(shown, answer.passed);
    this.more.hidden = !moreThere;
    this.more.textContent = `Show more: ${counted(least)} of ${counted(answer.passed)} are shown`;
  }

  drawPins() {
    const { drawn: answer, items } = this.view,
      rows = this.view.pins.filter(row => items.has(row));
    this.pins.classList.toggle("wbx-none", !rows.length);
    if (!rows.length) {
      this.pins.replaceChildren(
        h(
          "p",
          { class: "wbx-dim" },
          "Nothing is pinned: press p on a card, or its button, and its rank and score in every run stand here.",
        ),
      );
      return;
    }
    const line = (/** @type {number} */ row, /** @type {number} */ i) => {
      const item = this.view.item(row);
      const name = h(
        "button",
        { type: "button", class: "wbx-link", onclick: () => this.view.openItem(row) },
        `${i + 1} `,
        item.thumbnail ? this.view.thumbnails.image(item.thumbnail, "") : null,
        shape(item.mark),
        words(item.captions[0] ?? item.id, "span", { class: "wbx-caption" }),
      );
      return h(
        "tr",
        { "data-row": row },
        h("th", { scope: "row" }, name),
        item.ranks.map((rank, run) =>
          h("td", {}, h("b", {}, place(rank)), " ", h("span", { class: "wbx-dim" }, number(item.scores[run]))),
        ),
        h(
          "td",
          {},
          h("button", { type: "button", "aria-label": `unpin ${item.id}`, onclick: () => this.view.pin(row) }, "unpin"),
        ),
      );
    };
    this.pins.replaceChildren(
      table(
        "Pinned items",
        [heading("Pinned"), ...answer.runs.map(run => words(run, "th", { scope: "col" })), h("td", {})],
        rows.map(line),
      ),
    );
  }

  /** Show what is selected, here and in every linked view. */
  mark() {
    const now = new Set(this.view.answer?.query.seeks === "images" ? this.view.selected() : []);
    elements(this.columns, ".wbx-item").forEach(item => {
      const on = now.has(Number(item.dataset.row));
      item.classList.toggle("wbx-selected", on);
      item.querySelector(".wbx-select")?.setAttribute("aria-pressed", String(on));
    });
  }

  // Keys: from card to card

  /**
   * What a key does on a card.
   * @param {HTMLElement} card
   * @returns {Record<string, () => void>}
   */
  keys(card) {
    const { view } = this;
    const row = Number(card.dataset.row);
    /** @type {(right: number, down: number) => () => void} */
    const go = (right, down) => () => this.move(card, right, down);
    const select = () => {
      if (view.drawn.query.seeks === "images") view.select(row);
    };
    const last = () => {
      this.focus(this.cards(card).at(-1));
      view.exchange.askMore();
    };
    return {
      p: () => view.pin(row),
      s: select,
      ArrowLeft: go(-1, 0),
      ArrowRight: go(1, 0),
      ArrowUp: go(0, -1),
      ArrowDown: go(0, 1),
      Home: () => this.focus(this.cards(card)[0]),
      End: last,
    };
  }

  /**
   * @param {string | undefined} run
   * @param {string | undefined} row
   */
  card(run, row) {
    return elements(this.columns, `.wbx-card[data-run="${run}"][data-row="${row}"]`).at(0);
  }

  /**
   * All cards of the column of a card.
   * @param {Element} card
   */
  cards(card) {
    const column = card.closest(".wbx-column");
    return column ? elements(column, ".wbx-card") : [];
  }

  /**
   * The next card that way: in a list each run is one line of cards, and the same place of the next run lies beside it.
   * @param {HTMLElement} card
   * @param {number} right
   * @param {number} down
   */
  move(card, right, down) {
    const own = this.cards(card);
    const columns = elements(this.columns, ".wbx-column");
    const at = own.indexOf(card);
    /** @type {(one: Element) => number} */
    const top = one => one.getBoundingClientRect().top;
    const wide = own.filter(one => Math.abs(top(one) - top(own[0])) < 2).length;
    const inRow =
      this.layout === "grid" && Math.floor((at + right) / wide) === Math.floor(at / wide) && own[at + right];
    if (down || columns.length === 1 || inRow) {
      const next = own[at + right + down * wide];
      this.focus(next);
      if (!next && (down > 0 || right > 0)) this.view.exchange.askMore(true);
      return;
    }
    const there = columns[columns.findIndex(column => column.contains(card)) + right];
    const first = this.layout === "grid" ? Math.floor(at / wide) * wide + (right < 0 ? wide - 1 : 0) : at;
    if (there) this.focus(elements(there, ".wbx-card")[first]);
  }

  /** @param {HTMLElement | undefined} card */
  focus(card) {
    if (!card) return;
    this.cards(card).forEach(one => one.setAttribute("tabindex", "-1"));
    card.setAttribute("tabindex", "0");
    card.focus();
  }
}
