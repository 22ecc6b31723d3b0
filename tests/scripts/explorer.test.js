// What the explorer's scripts do without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { phrase } from "../../packages/caption_graphs/panels/graph.js";
import {
  better,
  correct,
  number,
  place,
  reworded,
  signed,
  toggled,
  unique,
} from "../../workbench/views/explorer/parts.js";
import { noted, read } from "../../workbench/views/explorer/questions.js";
import { LARGEST, middle, tile } from "../../workbench/views/explorer/tiles.js";

/** @import { Graph } from "../../packages/caption_graphs/panels/types.d.ts" */
/** @import { Kept } from "../../workbench/views/explorer/types.d.ts" */

/** @type {(name: string) => Kept} */
const asked = name => ({ name, tags: [], state: /** @type {any} */ ({ chips: [], panels: {} }) });
/** @type {(history: Kept[]) => string[]} */
const names = history => history.map(one => one.name);

test("what is not known is a dash, and a minus is a minus", () => {
  assert.deepEqual(
    [number(null), number(-0.5, 1), signed(0.25, 2), place(undefined), place(3)],
    ["–", "−0.5", "+0.25", "–", "#3"],
  );
});

test("a value is taken away where it is, and put at the end where it is not", () => {
  assert.deepEqual([toggled([1, 2], 1), toggled([1, 2], 3), unique([2, 1, 2])], [[2], [1, 2, 3], [2, 1]]);
});

test("each part of a graph stands amid its words", () => {
  /** @type {Graph} */
  const graph = { objects: ["cat", "box"], attributes: [[1, "red"]], relations: [[0, "in", 1]] };
  assert.deepEqual(phrase(graph, "objects", 1), ["", "box", ""]);
  assert.deepEqual(phrase(graph, "attributes", 0), ["", "red", " box"]);
  assert.deepEqual(phrase(graph, "relations", 0), ["cat ", "in", " box"]);
});

test("a question is in the history once, and a half-typed one gives way to what it becomes", () => {
  const history = [asked("a cat"), asked("a dog")];
  assert.deepEqual(names(noted(history, asked("a dog"), false)), ["a dog", "a cat"]);
  assert.deepEqual(names(noted(history, asked("a cat in a box"), true)), ["a cat in a box", "a dog"]);
  assert.deepEqual(names(noted(history, asked("a cat in a box"), false)), ["a cat in a box", "a cat", "a dog"]);
  assert.deepEqual(names(noted(history, asked("a bus"), true)), ["a bus", "a cat", "a dog"]);
});

test("the history keeps thirty questions", () => {
  const history = Array.from({ length: 30 }, (_, i) => asked(`question ${i}`));
  assert.equal(noted(history, asked("new"), false).length, 30);
});

test("a file of questions is taken whole, and only for its own split", () => {
  const file = {
    format: "workbench explorer, questions",
    split: "scenes/val",
    questions: [asked("a cat")],
    history: [],
  };
  assert.deepEqual(names(read(JSON.stringify(file), "scenes/val").questions), ["a cat"]);
  assert.match(read(JSON.stringify(file), "scenes/test").problem, /^These questions are of scenes\/val/);
  for (const text of ["no JSON", "null", "{}", JSON.stringify({ ...file, history: [{ name: 1 }] })])
    assert.match(read(text, "scenes/val").problem, /no file of questions/);
});

test("a word is put in the place of another where it stands alone", () => {
  assert.equal(reworded("a Gren dog, greenish, gren", "gren", "green"), "a green dog, greenish, green");
});

test("the right answers of a column are counted, and those that nobody judged are named", () => {
  /** @type {[import("../../workbench/views/explorer/types.d.ts").Mark[], string][]} */
  const cases = [
    [["own", "not", "relevant"], "2 of 3 right"],
    [["own", "unknown"], "1 of 2 right, 1 not judged"],
    [["unknown", "unknown"], "not judged"],
    [[], ""],
  ];
  for (const [marks, told] of cases) assert.equal(correct(marks), told);
});

test("green is a right item that rose, red one that fell or a wrong one that rose", () => {
  assert.deepEqual([better("own", 2), better("relevant", -1), better("not", 5)], ["up", "down", "down"]);
  assert.deepEqual([better("not", -5), better("unknown", 5), better("own", 0)], ["same", "same", "same"]);
});

test("images are as large as they can be and still all be seen", () => {
  // three in a row of 516: (516 - 16) / 3 = 166 wide and high; two rows of 166 + 35 are 402
  assert.equal(tile(6, 516, 402, 1), 166);
  assert.deepEqual([tile(6, 516, 401, 1), tile(6, 516, 369, 1)], [123, 0]);
  assert.equal(tile(1, 900, 2000, 1), LARGEST);
  assert.equal(tile(100, 900, 600, 1), 0);
  assert.deepEqual([middle([3, 1, 2]), middle([])], [2, 0]);
});
