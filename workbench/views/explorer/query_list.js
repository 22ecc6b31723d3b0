// The list of the selected queries: what they are, their ranks in every run, and a step from one to the next.

import { counted, elements, h, heading, place, table, words } from "./parts.js";
import { selectionIn } from "./query_table.js";

/** @import { QueryHost } from "./types.d.ts" */
/** @import { QueryTable } from "./query_table.js" */
/** @import { Selection } from "./selection.js" */

const PAGE = 30; // queries that are listed at first, and more each time

/**
 * The link that was clicked. The labels of a figure in JupyterLab hear of no click, so that there its place decides.
 * @param {MouseEvent} event
 */
function linkAt({ target, clientX, clientY }) {
  if (!(target instanceof Element)) return null;
  const holds = (/** @type {HTMLElement} */ link) => {
    const { left, right, top, bottom } = link.getBoundingClientRect();
    return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
  };
  const figure = target.closest(".js-plotly-plot");
  return target.closest("a") ?? (figure ? elements(figure, "text a").find(holds) : null) ?? null;
}

/**
 * Where a link leads, within this document alone. Of a link in a label, plotly leaves out or changes the address, and
 * keeps what was written in the text of the label.
 * @param {Element | null} link
 */
function addressOf(link) {
  const label = link?.closest("[data-unformatted]")?.getAttribute("data-unformatted") ?? "";
  const written = /href="(#[^"]*)"/.exec(label)?.[1];
  const address = written ?? link?.getAttribute("href") ?? "";
  return address.startsWith("#") ? address : "";
}

/**
 * Links of any table of the document to queries open them here.
 * @param {(text: string) => void} open
 * @returns {() => void} what ends it
 */
export function followLinks(open) {
  const onClick = (/** @type {MouseEvent} */ event) => {
    const text = selectionIn(addressOf(linkAt(event)));
    if (!text) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    open(text);
  };
  document.addEventListener("click", onClick, true);
  return () => document.removeEventListener("click", onClick, true);
}

export class QueryList {
  /**
   * @param {Selection} selection
   * @param {QueryHost} host
   */
  constructor(selection, host) {
    this.selection = selection;
    this.host = host;
    this.shown = PAGE;
    this.at = -1;
    /** @type {number[]} */
    this.rows = [];
    this.order = h("select", { "data-testid": "queries-order", onchange: () => this.restart() });
    this.told = h("span", { class: "wbq-number", "data-testid": "queries-at" });
    this.lines = h("div", {});
    const step = (/** @type {string} */ label, /** @type {number} */ by, /** @type {string} */ name) =>
      h(
        "button",
        {
          type: "button",
          "data-testid": by > 0 ? "query-next" : "query-last",
          "aria-label": name,
          onclick: () => this.go(by),
        },
        label,
      );
    const open = { type: "button", "data-testid": "show-queries", onclick: () => host.list() };
    selection.steps.append(
      h(
        "div",
        { class: "wbq-line" },
        h("button", open, "List"),
        step("‹", -1, "previous query of the selection"),
        step("Next query ›", 1, "next query of the selection"),
        this.told,
      ),
    );
    this.box = h(
      "div",
      { class: "wbq wbq-list", "data-testid": "queries" },
      h("label", { class: "wbq-line" }, h("span", {}, "Queries of the selection,"), this.order),
      host.foot(),
      this.lines,
    );
    selection.drawList = () => this.restart();
  }

  /** The selection or its order is another one. */
  restart() {
    const { table: queries, rows } = this.selection;
    if (!queries) return;
    this.shown = PAGE;
    this.at = -1;
    this.told.textContent = "";
    this.drawOrders(queries);
    this.rows = queries.sorted(rows, this.order.value);
    this.draw();
  }

  /** @param {QueryTable} queries */
  drawOrders(queries) {
    const { runs } = queries.record;
    const orders = runs.map((run, i) => [String(i), `the worst rank in ${run} first`]);
    if (runs.length > 1) orders.unshift(["differ", "where ranks differ most first"]);
    orders.push(["data", "in the order of the data"]);
    const { value } = this.order;
    this.order.replaceChildren(...orders.map(([order, told]) => h("option", { value: order }, told)));
    this.order.value = orders.some(([order]) => order === value) ? value : orders[0][0];
  }

  draw() {
    const { table: queries } = this.selection;
    if (!queries) return;
    const rows = this.rows.slice(0, this.shown);
    const left = this.rows.length - rows.length;
    const more = h(
      "button",
      {
        type: "button",
        "data-testid": "queries-show-more",
        onclick: () => {
          this.shown += 2 * PAGE;
          this.draw();
        },
      },
      `Show more: ${counted(left)} are left`,
    );
    const runs = queries.record.runs.map(run => words(run, "th", { scope: "col" }));
    const kind = queries.record.direction === "t2i" ? "Caption" : "Image";
    const lines = rows.map((row, i) => this.line(queries, row, i));
    this.lines.replaceChildren(
      h("p", { class: "wbq-dim" }, "A rank is that of the best annotated answer; 1 is right."),
      rows.length ? table("Queries", [heading(kind), ...runs], lines) : h("p", {}, "No query is selected."),
      left > 0 ? more : "",
    );
    const keys = rows.map(row => String(queries.images[row])).filter(key => !this.host.image(key));
    if (keys.length) this.host.want([...new Set(keys)]);
  }

  /**
   * @param {QueryTable} queries
   * @param {number} row
   * @param {number} i
   */
  line(queries, row, i) {
    const { record } = queries;
    const ranks = queries.ranks.map(ranks => ranks[row]);
    const best = Math.min(...ranks);
    const shown = [this.host.image(String(queries.images[row])), words(record.texts[row])];
    return h(
      "tr",
      { "aria-current": i === this.at ? "true" : null, "data-row": row },
      h(
        "th",
        { scope: "row" },
        this.host.has(row)
          ? h(
              "button",
              { type: "button", class: "wbq-query", "data-testid": "query-line", onclick: () => this.ask(i) },
              shown,
            )
          : h("span", { class: "wbq-query wbq-plain" }, shown),
      ),
      ranks.map(rank =>
        h(
          "td",
          {
            class: `wbq-number ${ranks.length > 1 && rank === best ? "wbq-best" : ""} ${rank === 1 ? "wbq-right" : ""}`,
          },
          Number.isNaN(rank) ? "–" : Number.isFinite(rank) ? place(rank) : "not listed",
        ),
      ),
    );
  }

  /** @param {number} step */
  go(step) {
    if (!this.rows.length) {
      this.host.say("No query is selected; open “Queries by field” at the side.");
      return;
    }
    const first = step < 0 ? 0 : -1;
    this.ask((Math.max(this.at, first) + step + this.rows.length) % this.rows.length);
  }

  /** @param {number} at */
  ask(at) {
    this.at = at;
    this.told.textContent = `${counted(at + 1)} of ${counted(this.rows.length)}`;
    this.lines.querySelectorAll("tbody tr").forEach((line, i) => line.toggleAttribute("aria-current", i === at));
    this.host.ask(this.rows[at]);
  }
}
