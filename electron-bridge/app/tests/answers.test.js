/** A streamed answer as blocks: the same whatever the pieces, and never slow. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  AnswerBlocks,
  CODE_PAGE,
  MAX_UNCUT_CHARS,
  STEP,
} from '../pages/repository/conversation/answer_blocks.js';
import { isTangled } from '../pages/repository/conversation/block_cuts.js';

/** @param {string} text @param {number} size */
function read(text, size) {
  const blocks = new AnswerBlocks();
  const finished = [];
  for (let place = 0; place < text.length; place += size) {
    blocks.add(text.slice(place, place + size));
    finished.push(...blocks.taken());
  }
  blocks.end();
  return [...finished, ...blocks.taken()];
}

/** @param {any[]} blocks what kinds of blocks came out, and their text */
function outline(blocks) {
  return blocks.flatMap((block) => {
    if (block.kind === 'code') return [`code ${block.code.language}: ${block.text}`];
    if (block.kind === 'text') return [`text: ${block.text}`];
    return block.tokens
      .filter((/** @type {any} */ { type }) => type !== 'space')
      .map((/** @type {any} */ { type, raw }) => `${type}: ${raw.trim()}`);
  });
}

const ANSWER = `# Title

The search begins in \`kernel/search/searcher.py:40-60\`, and
goes on from there.

- one
- two

  \`\`\`sh
  ls
  \`\`\`
- three

| a | b |
|---|---|
| 1 | 2 |

\`\`\`python
def f():
    return 1

print(f())
\`\`\`

> quoted

Last words.`;

test('an answer comes out the same in pieces of any size', () => {
  const whole = outline(read(ANSWER, ANSWER.length));
  for (const size of [1, 2, 3, 7, 40]) assert.deepEqual(outline(read(ANSWER, size)), whole);
  assert.deepEqual(
    whole.map((line) => line.split(':')[0]),
    ['heading', 'paragraph', 'list', 'table', 'code python', 'blockquote', 'paragraph'],
  );
});

test('a block is finished once, when the next one has begun', () => {
  const blocks = new AnswerBlocks();
  blocks.add('First.\n\nSec');
  assert.deepEqual(outline(blocks.taken()), ['paragraph: First.']);
  assert.deepEqual(outline(blocks.rest()), ['paragraph: Sec']);
  blocks.add('ond.');
  assert.deepEqual(blocks.taken(), []);
  assert.deepEqual(outline(blocks.rest()), ['paragraph: Second.']);
});

test('code is shown while its fence is still open, without a fence that is being written', () => {
  const blocks = new AnswerBlocks();
  blocks.add('```js\nlet a = 1;\n``');
  assert.deepEqual(outline(blocks.rest()), ['code js: let a = 1;\n``']);
  blocks.add('`');
  assert.deepEqual(outline(blocks.rest()), ['code js: let a = 1;\n']);
  blocks.add('\nAfter.');
  assert.deepEqual(outline(blocks.taken()), ['code js: let a = 1;\n']);
  assert.deepEqual(outline(blocks.rest()), ['paragraph: After.']);
});

test('long code comes in pages that together are all of it', () => {
  const lines = Array.from({ length: 500 }, (_, number) => `line ${number}\n`).join('');
  const pages = read(`\`\`\`\n${lines}\`\`\`\n`, 333);
  assert.ok(pages.length >= 500 / CODE_PAGE);
  assert.equal(pages.map((page) => /** @type {any} */ (page).text).join(''), lines);
  assert.deepEqual([pages[0].isFirst, pages[0].isLast, pages.at(-1)?.isLast], [true, false, true]);
  const { code } = /** @type {any} */ (pages[0]);
  assert.equal(code.pages.join('') + code.last, lines);
});

test('a fence inside a fence of four is code', () => {
  const blocks = read('````md\n```js\nx\n```\n````\ndone', 4);
  assert.deepEqual(outline(blocks), ['code md: ```js\nx\n```\n', 'paragraph: done']);
});

test('a long list is cut between items and goes on counting', () => {
  const text = Array.from({ length: 400 }, (_, n) => `${n + 1}. item number ${n + 1}\n`).join('');
  const blocks = read(text, 100);
  assert.ok(blocks.length > 2);
  const starts = blocks.map((block) => /** @type {any} */ (block).tokens[0].start);
  const items = blocks.flatMap((block) => /** @type {any} */ (block).tokens[0].items);
  assert.equal(items.length, 400);
  let next = 1;
  blocks.forEach((block, index) => {
    assert.equal(starts[index], next);
    next += /** @type {any} */ (block).tokens[0].items.length;
  });
});

test('a long table is cut between rows and keeps its head', () => {
  const rows = Array.from({ length: 300 }, (_, n) => `| ${n} | some words here |\n`).join('');
  const blocks = read(`| n | words |\n|---|---|\n${rows}\nAfter.`, 64);
  const tables = blocks.filter((block) => /** @type {any} */ (block).tokens?.[0]?.type === 'table');
  assert.ok(tables.length > 2);
  const count = tables.reduce(
    (sum, block) => sum + /** @type {any} */ (block).tokens[0].rows.length,
    0,
  );
  assert.equal(count, 300);
  assert.ok(tables.slice(1).every((block) => /** @type {any} */ (block).isContinued));
  assert.equal(outline(blocks).at(-1), 'paragraph: After.');
});

test('no letter of an endless paragraph is lost', () => {
  const words = Array.from({ length: 20_000 }, (_, n) => `word${n}`).join(' ');
  const text = outline(read(words, STEP))
    .map((line) => line.replace('paragraph: ', ''))
    .join(' ');
  assert.equal(text, words);
});

test('what marked would need seconds for is shown as it is written', () => {
  assert.ok(isTangled('_a*'.repeat(400)));
  assert.ok(isTangled('> '.repeat(100)));
  assert.ok(!isTangled(ANSWER));
  for (const hostile of ['_a*'.repeat(30_000), '['.repeat(50_000), '> '.repeat(20_000)]) {
    const blocks = read(hostile, STEP);
    const longest = Math.max(...blocks.map((block) => outline([block]).join('').length));
    assert.ok(longest <= MAX_UNCUT_CHARS + STEP + 100);
    assert.equal(outline(blocks).join('').replace(/\w+: /g, '').length > 10_000, true);
  }
});
