// The queries of the data in the browser: fields, ranks and values by query, what is selected of them, and the means of
// the selection. Nothing here draws or asks anybody; Python's queries.py makes the table, runs/selection.py reads the
// same texts.

/** @import { Column, Condition, FieldRecord, NumberRecord, QueryRecord } from "./types.d.ts" */

export const MISSING = "=(missing)";
const JOINT = ", ";
const OR = " or ";
const OUTCOME = /;\s*(right|wrong) in /;
const CONSTRUCTORS = { i1: Int8Array, i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
const WORD = /[\p{L}\p{N}]+(?:'[\p{L}\p{N}]+)*/gu;
const AMOUNT = String.raw`-?[\d.]+(?:e[-+]?\d+)?`;
const BETWEEN = new RegExp(`^(${AMOUNT})<(.+)<=(${AMOUNT})$`);
const COMPARED = new RegExp(`^(.+?)(>=|<=|>|<)(${AMOUNT})$`);
/** @type {Record<string, (value: number, end: number) => boolean>} */
const SIGNS = { ">": (a, b) => a > b, ">=": (a, b) => a >= b, "<": (a, b) => a < b, "<=": (a, b) => a <= b };

/**
 * The bytes of a column as numbers.
 * @param {Column} column
 * @param {number} size
 * @param {(DataView | ArrayBuffer)[]} blobs
 * @returns {ArrayLike<number>}
 */
export function decode(column, size, blobs) {
  if (column.constant !== undefined) return new Float64Array(size).fill(column.constant);
  const blob = blobs[column.at ?? 0];
  // an array of wider numbers begins at a multiple of its width
  const start = "byteOffset" in blob ? blob.byteOffset : 0;
  const bytes = ("buffer" in blob ? blob.buffer : blob).slice(start, start + blob.byteLength);
  return new CONSTRUCTORS[column.type ?? "f8"](/** @type {ArrayBuffer} */ (bytes));
}

/**
 * The words of a text as text/words.py has them.
 * @param {string} text
 * @returns {string[]}
 */
const wordsOf = text => text.normalize("NFC").toLowerCase().replaceAll("’", "'").match(WORD) ?? [];

/** A field: its bars, and the bar of every query. */
export class Field {
  /**
   * @param {FieldRecord} record
   * @param {number} size
   * @param {(DataView | ArrayBuffer)[]} blobs
   */
  constructor(record, size, blobs) {
    this.name = record.name;
    this.kind = record.kind;
    this.source = record.source;
    const column = decode(record.column, size, blobs);
    /** @type {ArrayLike<number> | null} */
    this.values = record.edges ? column : null;
    this.edges = record.edges ?? [];
    this.labels = record.labels;
    this.codes = new Int16Array(size);
    if (this.values) this.cut(this.values);
    else this.codes.set(column);
  }

  /** @param {ArrayLike<number>} values */
  cut(values) {
    const last = this.labels.length;
    let missing = false;
    for (let row = 0; row < values.length; row += 1) {
      const at = this.edges.findIndex(edge => values[row] <= edge);
      const unknown = Number.isNaN(values[row]);
      this.codes[row] = unknown ? last : at < 0 ? last - 1 : at;
      missing ||= unknown;
    }
    if (missing) this.labels = [...this.labels, this.name + MISSING];
  }

  /**
   * The value of a query as its bar says it; nothing where it is missing.
   * @param {number} row
   */
  value(row) {
    const label = this.labels[this.codes[row]];
    return label === this.name + MISSING ? "" : label.slice(this.name.length + 1);
  }

  /**
   * How many of the queries that count each bar has.
   * @param {Uint8Array} mask
   */
  counts(mask) {
    const counts = new Uint32Array(this.labels.length);
    for (let row = 0; row < mask.length; row += 1) counts[this.codes[row]] += mask[row];
    return counts;
  }
}

/** What is selected: bars of fields, other conditions, what runs answer, and images that were chosen by hand. */
export class Chosen {
  constructor() {
    /** @type {Map<string, Set<number>>} */
    this.bars = new Map();
    /** @type {Condition[]} */
    this.conditions = [];
    /** @type {("" | "right" | "wrong")[]} */
    this.outcomes = [];
    /** @type {Set<number> | null} */
    this.images = null;
  }

  get empty() {
    const bars = [...this.bars.values()].some(bars => bars.size);
    return !bars && !this.conditions.length && !this.outcomes.some(Boolean) && !this.images;
  }
}

export class QueryTable {
  /**
   * @param {QueryRecord} record
   * @param {(DataView | ArrayBuffer)[]} blobs
   */
  constructor(record, blobs) {
    this.record = record;
    this.size = record.size;
    const column = (/** @type {Column} */ one) => decode(one, record.size, blobs);
    this.images = column(record.images);
    this.ranks = record.ranks.map(column);
    this.items = record.answers?.items;
    this.answers = record.answers?.runs.map(({ score, wrong, wrong_score }) => ({
      score: column(score),
      wrong: column(wrong),
      wrongScore: column(wrong_score),
    }));
    this.fields = record.fields.map(field => new Field(field, record.size, blobs));
    this.conditions = record.conditions.map(({ label, column: holds }) => ({ label, holds: column(holds) }));
    this.numbers = record.numbers.map((/** @type {NumberRecord} */ number) => ({
      key: number.key,
      title: number.title,
      values: number.values.map(column),
      chance: column(number.chance),
    }));
  }

  /**
   * Which queries are selected.
   * @param {Chosen} chosen
   * @param {string} except a field that is left out
   */
  mask(chosen, except = "") {
    const mask = new Uint8Array(this.size).fill(1);
    const keep = (/** @type {(row: number) => boolean} */ holds) => {
      for (let row = 0; row < mask.length; row += 1) if (mask[row] && !holds(row)) mask[row] = 0;
    };
    for (const field of this.fields) {
      const bars = chosen.bars.get(field.name);
      if (bars?.size && field.name !== except) keep(row => bars.has(field.codes[row]));
    }
    for (const { holds } of chosen.conditions) keep(row => Boolean(holds[row]));
    chosen.outcomes.forEach((outcome, run) => {
      const ranks = this.ranks[run];
      if (outcome === "right") keep(row => ranks[row] === 1);
      if (outcome === "wrong") keep(row => ranks[row] > 1);
    });
    const { images } = chosen;
    if (images) keep(row => images.has(this.images[row]));
    return mask;
  }

  /**
   * The mean of every number over the selected queries: of each run, and by chance; null where no query counts.
   * @param {Uint8Array} mask
   */
  means(mask) {
    const mean = (/** @type {ArrayLike<number>} */ values) => {
      let [sum, count] = [0, 0];
      for (let row = 0; row < mask.length; row += 1) {
        if (!mask[row] || Number.isNaN(values[row])) continue;
        sum += values[row];
        count += 1;
      }
      return count ? sum / count : null;
    };
    return this.numbers.map(({ key, title, values, chance }) => ({
      key,
      title,
      means: values.map(mean),
      chance: mean(chance),
    }));
  }

  /** @param {Uint8Array} mask */
  rows(mask) {
    return [...mask.keys()].filter(row => mask[row]);
  }

  /**
   * The queries in the order in which they are looked at: where the ranks differ most, or the worst rank first.
   * @param {number[]} rows
   * @param {string} order "differ", "data", or the number of a run
   */
  sorted(rows, order) {
    if (order === "data") return rows;
    const known = (/** @type {number} */ rank) => (Number.isFinite(rank) ? Math.max(rank, 1) : 1);
    const weight = (/** @type {number} */ row) => {
      if (order !== "differ") return this.ranks[Number(order)][row] || 0;
      const logs = this.ranks.map(ranks => Math.log(known(ranks[row])));
      return Math.max(...logs) - Math.min(...logs);
    };
    const weights = new Map(rows.map(row => [row, weight(row)]));
    return [...rows].sort((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0) || a - b);
  }

  /**
   * Queries as a file of comma-separated values, with the columns of Python's Queries.answers: id, text, image, fields,
   * and of every run the rank, the score of the best ground truth, and the best wrong answer with its score.
   * @param {number[]} rows
   */
  csv(rows) {
    const quoted = (/** @type {unknown} */ value) => {
      const text = String(value);
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const known = (/** @type {number} */ value) => (Number.isFinite(value) ? value : "");
    const { direction, ids, texts, runs } = this.record;
    const { items = [], answers = [] } = this;
    const images = direction === "i2t" ? ids : items;
    const headsOf = (/** @type {string} */ run) => [
      `rank ${run}`,
      `score ${run}`,
      `wrong answer ${run}`,
      `its score ${run}`,
    ];
    const heads = ["id", "text", "image", ...this.fields.map(field => field.name), ...runs.flatMap(headsOf)];
    const lines = rows.map(row => [
      ids[row],
      texts[row],
      images[this.images[row]] ?? "",
      ...this.fields.map(field => (field.values ? known(field.values[row]) : field.value(row))),
      ...answers.flatMap(({ score, wrong, wrongScore }, run) => [
        known(this.ranks[run][row]),
        known(score[row]),
        items[wrong[row]] ?? "",
        known(wrongScore[row]),
      ]),
    ]);
    return [heads, ...lines].map(line => `${line.map(quoted).join(",")}\r\n`).join("");
  }

  // The selection as a text

  /**
   * The conditions of a selection as the label of a slice.
   * @param {Chosen} chosen
   */
  label(chosen) {
    const parts = [];
    for (const field of this.fields) {
      const bars = [...(chosen.bars.get(field.name) ?? [])].sort((a, b) => a - b);
      if (bars.length) parts.push(bars.map(bar => field.labels[bar]).join(OR));
    }
    return [...parts, ...chosen.conditions.map(({ label }) => label)].join(JOINT);
  }

  /**
   * The text of a selection; images that were chosen by hand have none.
   * @param {Chosen} chosen
   */
  text(chosen) {
    const label = this.label(chosen);
    const key = `${this.record.direction}/R@1${label ? `[${label}]` : ""}`;
    const outcomes = this.record.runs.map((run, i) => (chosen.outcomes[i] ? `; ${chosen.outcomes[i]} in ${run}` : ""));
    return key + outcomes.join("");
  }

  /**
   * Read a text; what is not known here is named, so that somebody else may be asked.
   * @param {string} text
   * @returns {{ chosen: Chosen, unknown: string[], problem: string }}
   */
  read(text) {
    const chosen = new Chosen();
    const { label, outcomes } = parts(text);
    const problems = [];
    for (const { outcome, name } of outcomes) {
      const run = this.record.runs.indexOf(name);
      if (run < 0) problems.push(`no run is called ${name}`);
      else chosen.outcomes[run] = outcome;
    }
    const unknown = [];
    for (const part of label ? this.split(label, JOINT) : []) {
      const bars = this.barsOf(part);
      if (bars) {
        chosen.bars.set(bars.field.name, new Set([...(chosen.bars.get(bars.field.name) ?? []), ...bars.bars]));
        continue;
      }
      const holds = this.holds(part);
      if (holds) chosen.conditions.push({ label: part, holds });
      else unknown.push(part);
    }
    return { chosen, unknown, problem: problems.join("; ") };
  }

  /**
   * The parts of a label; what begins no condition belongs to the value before it.
   * @param {string} label
   * @param {string} joint
   */
  split(label, joint) {
    /** @type {string[]} */
    const texts = [];
    for (const part of label.split(joint)) {
      const begins = /[=<>]/.test(part.split(OR)[0]);
      if (texts.length && !begins) texts[texts.length - 1] += joint + part;
      else texts.push(part);
    }
    return texts;
  }

  /**
   * The bars of one field whose labels a part of a label has.
   * @param {string} part
   */
  barsOf(part) {
    const texts = this.split(part, OR);
    for (const field of this.fields) {
      const bars = texts.map(text => field.labels.indexOf(text));
      if (bars.every(bar => bar >= 0)) return { field, bars };
    }
    return null;
  }

  /**
   * Where a part of a label holds; null = it is not known here.
   * @param {string} part
   * @returns {ArrayLike<number> | null}
   */
  holds(part) {
    const known = this.conditions.find(({ label }) => label === part);
    if (known) return known.holds;
    const each = this.split(part, OR).map(text => this.test(text));
    if (each.some(test => !test)) return null;
    return Uint8Array.from({ length: this.size }, (_, row) => Number(each.some(test => test?.(row))));
  }

  /**
   * What tells whether a single condition holds.
   * @param {string} text
   * @returns {((row: number) => boolean) | null}
   */
  test(text) {
    const known = this.conditions.find(({ label }) => label === text);
    if (known) return row => Boolean(known.holds[row]);
    const bars = this.barsOf(text);
    if (bars) return row => bars.bars.includes(bars.field.codes[row]);
    if (text.startsWith("word=") && this.record.direction === "t2i") {
      const word = text.slice("word=".length);
      return row => wordsOf(this.record.texts[row]).includes(word);
    }
    const between = BETWEEN.exec(text);
    if (between) {
      const values = this.values(between[2]);
      return values && (row => values[row] > Number(between[1]) && values[row] <= Number(between[3]));
    }
    const compared = COMPARED.exec(text);
    const values = compared && this.values(compared[1]);
    return values && (row => SIGNS[compared[2]](values[row], Number(compared[3])));
  }

  /** @param {string} name */
  values(name) {
    return this.fields.find(field => field.name === name)?.values ?? null;
  }
}

/**
 * The parts of the text of a selection.
 * @param {string} text
 * @returns {{ direction: "t2i" | "i2t", label: string, outcomes: { outcome: "right" | "wrong", name: string }[] }}
 */
export function parts(text) {
  const [head, ...rest] = text.trim().split(OUTCOME);
  const bare = !head.includes("[") && /[=<>]/.test(head);
  const subset = bare ? head : (/\[([^[\]]+)\]/.exec(head)?.[1] ?? "");
  const label = subset.replace(/^within /, "").replace(/^mean over .*/, "");
  const outcomes = [];
  for (let i = 0; i + 1 < rest.length; i += 2)
    outcomes.push({ outcome: /** @type {"right" | "wrong"} */ (rest[i]), name: rest[i + 1].trim() });
  return { direction: /(^|:)i2t\//.test(head) ? "i2t" : "t2i", label, outcomes };
}

/**
 * The text of a selection in the fragment of an address; "" = there is none.
 * @param {string} hash
 */
export function selectionIn(hash) {
  return new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B")).get("select") ?? "";
}
