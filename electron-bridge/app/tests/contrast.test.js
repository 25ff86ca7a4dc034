/** Colours: text on its ground has WCAG AA contrast in both themes, borders of controls 3:1. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const TOKENS = readFileSync(new URL('../pages/styles/tokens.css', import.meta.url), 'utf8');
const PAIR = /--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g;
const ALONE = /--([\w-]+): (#\w{6});/g;

/** @type {Map<string, string[]>} name -> light and dark */
const colours = new Map([
  ...[...TOKENS.matchAll(ALONE)].map(
    ([, name, both]) => /** @type {const} */ ([name, [both, both]]),
  ),
  ...[...TOKENS.matchAll(PAIR)].map(([, name, ...two]) => /** @type {const} */ ([name, two])),
]);

const GROUNDS = ['bg', 'bg-raised', 'bg-sunken', 'bg-hover', 'bg-selected'];
const TEXTS = ['text', 'text-muted', 'text-faint', 'accent-text', 'good', 'warn', 'bad'];
const CODE = [...colours.keys()].filter((name) => name.startsWith('code-') && name !== 'code-bg');
const CHARTS = [...colours.keys()].filter((name) => name.startsWith('chart-'));

const TEXT_PAIRS = [
  ...TEXTS.flatMap((text) => GROUNDS.map((ground) => [text, ground])),
  ...['good', 'warn', 'bad'].map((name) => [name, `${name}-soft`]),
  ...['accent', 'accent-hover', 'danger', 'danger-hover'].map((name) => ['on-accent', name]),
  ['accent-text', 'accent-soft'],
  ['mark-text', 'mark'],
  ...CODE.map((name) => [name, 'code-bg']),
  ...CODE.map((name) => [name, 'bg-raised']),
];
const SHAPE_PAIRS = [
  ...['bg', 'bg-raised'].map((ground) => ['border-strong', ground]),
  ...CHARTS.map((name) => [name, 'bg-raised']),
];

/** @param {string} hex */
function luminance(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * @param {string} one
 * @param {string} other
 */
function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/**
 * @param {string[][]} pairs
 * @param {number} least
 */
function tooFaint(pairs, least) {
  return ['light', 'dark'].flatMap((theme, at) =>
    pairs
      .map(([one, other]) => {
        const [front, ground] = [colours.get(one), colours.get(other)];
        assert.ok(front && ground, `${one} or ${other} is no colour of tokens.css`);
        return { pair: `${theme}: ${one} on ${other}`, is: contrast(front[at], ground[at]) };
      })
      .filter(({ is }) => is < least)
      .map(({ pair, is }) => `${pair} ${is.toFixed(2)}`),
  );
}

test('text can be read on every ground', () => {
  assert.equal(CODE.length, 10);
  assert.deepEqual(tooFaint(TEXT_PAIRS, 4.5), []);
});

test('borders of controls and lines of charts can be seen', () => {
  assert.equal(CHARTS.length, 6);
  assert.deepEqual(tooFaint(SHAPE_PAIRS, 3), []);
});

test('the measure is that of WCAG', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21);
  assert.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48');
});
