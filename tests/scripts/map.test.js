// What the map's scripts do without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { captionsOf } from "../../workbench/views/maps/map.js";
import { fitted, Grid, inside, pixel, ramp } from "../../workbench/views/maps/shapes.js";

test("a colour is a pixel with red in the lowest byte, and a ramp ends in its colours", () => {
  assert.equal(pixel("#0102ff"), 0xff0201);
  const steps = ramp(["#000000", "#ff0000"]);
  assert.deepEqual([steps.length, steps[0], steps[255]], [256, 0, 0xff]);
});

test("places are fitted into the square, up is up", () => {
  const xy = fitted(Float32Array.of(0, 0, 10, 4));
  assert.ok(xy.every(value => Math.abs(value) <= 1));
  assert.ok(xy[0] < xy[2] && xy[1] > xy[3]);
});

test("a lasso holds what lies inside it", () => {
  const corners = [
    [0, 0],
    [2, 0],
    [2, 2],
    [0, 2],
  ];
  assert.deepEqual([inside(corners, 1, 1), inside(corners, 3, 1), inside(corners, 1, -1)], [true, false, false]);
});

test("the nearest shown point is that of a loop over all", () => {
  let seed = 1;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const xy = Float32Array.from({ length: 400 }, () => 2 * random() - 1);
  const shown = Uint8Array.from({ length: 200 }, () => (random() < 0.7 ? 1 : 0));
  const grid = new Grid(xy);
  for (let i = 0; i < 50; i += 1) {
    const [x, y] = [2 * random() - 1, 2 * random() - 1];
    let best = -1;
    let least = 0.2;
    for (let row = 0; row < 200; row += 1) {
      const distance = Math.hypot(xy[2 * row] - x, xy[2 * row + 1] - y);
      if (shown[row] && distance < least) [best, least] = [row, distance];
    }
    assert.equal(grid.nearest(x, y, 0.2, shown), best);
  }
});

test("each image has the rows of its captions", () => {
  assert.deepEqual(captionsOf(Int32Array.of(0, 1, 1, 0, 1), 2), [[3], [2, 4]]);
});
