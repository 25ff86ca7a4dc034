/** What the command palette offers for a text. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fittingItems, groupedItems } from '../pages/shell/palette_items.js';

const item = (/** @type {any} */ kind, /** @type {string} */ label, detail = '') => ({
  kind,
  label,
  detail,
  run: () => {},
});

test('a name that begins with the text comes first, letters in order suffice', () => {
  const items = [item('action', 'Show usage'), item('action', 'Usage'), item('file', 'uxsxaxge')];
  assert.deepEqual(
    fittingItems(items, 'usage').map(({ label }) => label),
    ['Usage', 'Show usage', 'uxsxaxge'],
  );
  assert.deepEqual(fittingItems(items, 'zz'), []);
  assert.equal(fittingItems(items, '').length, 3);
});

test('a repository is found by its folder, too, and kinds stand together', () => {
  const items = [item('action', 'x code'), item('repository', 'demo', '/work/code')];
  const found = groupedItems(fittingItems(items, 'code'));
  assert.deepEqual(
    found.map(({ kind }) => kind),
    ['repository', 'action'],
  );
});
