/** Numbers, sizes and times, in both languages. */

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';

import {
  formatAgo,
  formatBytes,
  formatCount,
  formatDay,
  formatDuration,
  formatPercent,
} from '../pages/common/format.js';
import { setLanguage } from '../pages/common/i18n.js';

const NOON = Date.UTC(2026, 0, 31, 12);
const ago = (/** @type {number} */ seconds) => formatAgo(NOON - seconds * 1000, NOON);

afterEach(() => setLanguage('en'));

test('sizes have at most one decimal and a unit that fits', () => {
  assert.equal(formatBytes(0), '0 bytes');
  assert.equal(formatBytes(999), '999 bytes');
  assert.equal(formatBytes(1000), '1 kB');
  assert.equal(formatBytes(1_250_000), '1.3 MB');
  assert.equal(formatBytes(31_000_000), '31 MB');
  assert.equal(formatBytes(2_200_000_000), '2.2 GB');
});

test('durations have at most two units', () => {
  assert.equal(formatDuration(0.4), '0 sec');
  assert.equal(formatDuration(59.4), '59 sec');
  assert.equal(formatDuration(60), '1 min');
  assert.equal(formatDuration(125), '2 min 5 sec');
  assert.equal(formatDuration(3725), '1 hr 2 min');
  assert.equal(formatDuration(90_000), '1 day 1 hr');
});

test('how long ago grows coarser, and ends in a date', () => {
  assert.equal(ago(5), 'just now');
  assert.equal(ago(-5), 'just now');
  assert.equal(ago(120), '2 minutes ago');
  assert.equal(ago(7200), '2 hours ago');
  assert.equal(ago(86_400), 'yesterday');
  assert.equal(ago(40 * 86_400), 'Dec 22, 2025');
});

test('Chinese is written as Chinese', () => {
  setLanguage('zh');
  assert.equal(ago(120), '2分钟前');
  assert.equal(formatDuration(125), '2分钟5秒');
  assert.equal(formatDay('2026-01-31'), '1月31日');
});

test('a day is that day in every time zone', () => {
  assert.equal(formatDay('2026-01-31'), 'Jan 31');
  assert.equal(formatDay('2026-01-01'), 'Jan 1');
});

test('counts are grouped', () => {
  assert.equal(formatCount(1234567), '1,234,567');
  assert.equal(formatPercent(0.256), '26%');
});
