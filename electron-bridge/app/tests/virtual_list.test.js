/** The arithmetic of a list of which only a part is drawn. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Heights, rowsInSight } from '../pages/repository/virtual/heights.js';
import { destination } from '../pages/repository/virtual/list_keys.js';

test('sums and places agree with adding up one by one', () => {
  const heights = new Heights(1000, 20);
  const plain = new Array(1000).fill(20);
  for (let index = 0; index < 1000; index += 7) {
    plain[index] = 10 + (index % 90);
    heights.set(index, plain[index]);
  }
  let sum = 0;
  for (let index = 0; index < 1000; index += 1) {
    assert.equal(heights.before(index), sum);
    assert.equal(heights.at(sum), index);
    assert.equal(heights.at(sum + plain[index] - 1), index);
    sum += plain[index];
  }
  assert.equal(heights.total, sum);
  assert.equal(heights.at(sum + 5000), 999);
});

test('setting a height says by how much it has grown', () => {
  const heights = new Heights(3, 100);
  assert.equal(heights.set(1, 130), 30);
  assert.equal(heights.set(1, 130), 0);
  assert.equal(heights.before(2), 230);
});

test('only rows in sight and a few beyond are drawn, of ten thousand', () => {
  const heights = new Heights(10_000, 150);
  const { begin, end } = rowsInSight(heights, { top: 600_000, height: 900, beyond: 300 });
  assert.ok(begin <= 4000 && end >= 4006);
  assert.ok(end - begin < 15);
});

test('an empty list has no rows to draw', () => {
  const nothing = rowsInSight(new Heights(0, 150), { top: 0, height: 900, beyond: 300 });
  assert.deepEqual(nothing, { begin: 0, end: 0 });
});

test('keys move within the list, and up from the first row out of it', () => {
  const list = { active: 0, count: 30, page: 8 };
  assert.equal(destination({ key: 'ArrowDown' }, list), 1);
  assert.equal(destination({ key: 'j' }, { ...list, active: 29 }), 29);
  assert.equal(destination({ key: 'k' }, list), -1);
  assert.equal(destination({ key: 'PageDown' }, { ...list, active: 25 }), 29);
  assert.equal(destination({ key: 'PageUp' }, { ...list, active: 3 }), 0);
  assert.equal(destination({ key: 'End' }, list), 29);
  assert.equal(destination({ key: 'j', ctrlKey: true }, list), null);
  assert.equal(destination({ key: 'x' }, list), null);
  assert.equal(destination({ key: 'ArrowDown' }, { active: 0, count: 0, page: 1 }), null);
});
