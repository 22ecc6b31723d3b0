// The table of queries without a page: what is selected, its numbers, and the text that names it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chosen, parts, QueryTable, selectionIn } from "../../workbench/views/explorer/query_table.js";

/** @import { QueryRecord } from "../../workbench/views/explorer/types.d.ts" */

const RANKS = Float32Array.from([1, 2, Number.NaN, 4, 1]);
const WORDS = Int8Array.from([3, 5, 6, 9, 9]);
const HITS = Float32Array.from([1, 0, Number.NaN, 0, 1]);
const LANGUAGE = Int8Array.from([0, 1, 0, 1, 0]);

/** Five captions of three images, two runs; the second is right everywhere. */
const table = () => {
  /** @type {QueryRecord} */
  const record = {
    direction: "t2i",
    size: 5,
    ids: ["a", "b", "c", "d", "e"],
    texts: ["a Dog’s bed", "two dogs", "a cat", "no dog's here", "ein Hund"],
    images: { type: "i1", at: 0 },
    fields: [
      {
        name: "language",
        kind: "category",
        source: "",
        edges: null,
        labels: ["language=de", "language=en, us"],
        column: { type: "i1", at: 1 },
      },
      {
        name: "words",
        kind: "number",
        source: "",
        edges: [4, 8],
        labels: ["words<=4", "4<words<=8", "words>8"],
        column: { type: "i1", at: 2 },
      },
    ],
    more: [],
    runs: ["first", "second"],
    ranks: [{ type: "f4", at: 3 }, { constant: 1 }],
    numbers: [
      { key: "t2i/R@1", title: "R@1", values: [{ type: "f4", at: 4 }, { constant: 1 }], chance: { constant: 0.25 } },
    ],
    conditions: [],
  };
  return new QueryTable(
    record,
    [Int8Array.from([0, 0, 1, 1, 2]), LANGUAGE, WORDS, RANKS, HITS].map(one => one.buffer),
  );
};

/** @type {(text: string) => number[]} */
const rows = text => {
  const queries = table();
  return queries.rows(queries.mask(queries.read(text).chosen));
};

test("a text selects the queries that its conditions and outcomes hold for", () => {
  assert.deepEqual(rows("t2i/R@1"), [0, 1, 2, 3, 4]);
  assert.deepEqual(rows("language=de"), [0, 2, 4]);
  assert.deepEqual(rows("t2i/R@1[language=en, us, words>8]"), [3]);
  assert.deepEqual(rows("t2i/R@5[words<=4 or words>8]"), [0, 3, 4]);
  assert.deepEqual(rows("t2i/R@1[5<words<=9]; wrong in first; right in second"), [3]);
  assert.deepEqual(rows("words>=5, language=de"), [2, 4]);
  assert.deepEqual(rows("word=dog's"), [0, 3]);
  assert.deepEqual(rows("t2i/R@1; wrong in first"), [1, 3], "a query without a rank is neither right nor wrong");
});

test("what is not known is named, and a run that is not there as well", () => {
  assert.deepEqual(table().read("shows=snow, words>8").unknown, ["shows=snow"]);
  assert.match(table().read("t2i/R@1; wrong in third").problem, /third/);
});

test("a condition that was learnt is known", () => {
  const queries = table();
  queries.conditions.push({ label: "shows=snow", holds: Uint8Array.from([0, 0, 0, 1, 1]) });
  const { chosen, unknown } = queries.read("shows=snow, language=de");
  assert.deepEqual([queries.rows(queries.mask(chosen)), unknown], [[4], []]);
});

test("bars give a text that reads back as the same bars", () => {
  const queries = table();
  const chosen = new Chosen();
  chosen.bars.set("words", new Set([2, 0]));
  chosen.bars.set("language", new Set([1]));
  chosen.outcomes = ["wrong", ""];
  const text = queries.text(chosen);
  assert.equal(text, "t2i/R@1[language=en, us, words<=4 or words>8]; wrong in first");
  const again = queries.read(text).chosen;
  assert.deepEqual(again.bars.get("words"), new Set([0, 2]));
  assert.deepEqual(queries.rows(queries.mask(again)), queries.rows(queries.mask(chosen)));
});

test("means leave out what does not count, and nothing has no mean", () => {
  const queries = table();
  const [{ means, chance }] = queries.means(queries.mask(queries.read("language=de").chosen));
  assert.deepEqual([means, chance], [[1, 1], 0.25]);
  assert.deepEqual(queries.means(new Uint8Array(5))[0].means, [null, null]);
});

test("images that were chosen by hand are a condition as well", () => {
  const queries = table();
  const chosen = new Chosen();
  chosen.images = new Set([1]);
  assert.deepEqual(queries.rows(queries.mask(chosen)), [2, 3]);
});

test("queries are in the order in which the runs differ most, or with the worst rank first", () => {
  const queries = table();
  assert.deepEqual(queries.sorted([0, 1, 2, 3, 4], "differ"), [3, 1, 0, 2, 4]);
  assert.deepEqual(queries.sorted([0, 1, 2, 3, 4], "0"), [3, 1, 0, 4, 2]);
  assert.deepEqual(queries.sorted([4, 1], "data"), [4, 1]);
});

test("bytes within a larger buffer are read from where they begin", () => {
  const buffer = new ArrayBuffer(11);
  const view = new DataView(buffer, 3, 8);
  view.setFloat32(0, 0.5, true);
  view.setFloat32(4, 1.5, true);
  const record = /** @type {any} */ ({ size: 2, fields: [], ranks: [], numbers: [], conditions: [], runs: [] });
  assert.deepEqual(
    [...new QueryTable({ ...record, images: { type: "f4", at: 0 } }, [view]).images].map(Number),
    [0.5, 1.5],
  );
});

test("an address holds a selection, and a label of a mean over slices has no condition", () => {
  assert.equal(selectionIn("#select=t2i%2FR%401%5Blanguage%3Dde%5D&question=2"), "t2i/R@1[language=de]");
  assert.equal(selectionIn("#question=2"), "");
  assert.deepEqual(parts("exact:i2t/map_at_r[mean over language]"), { direction: "i2t", label: "", outcomes: [] });
  assert.equal(parts("t2i/R@1[within words>8]").label, "words>8");
});
