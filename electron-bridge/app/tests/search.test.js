/** Queries, facets and snippets of the search, and that old answers are dropped. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { facetsOf } from '../pages/repository/search/facets.js';
import { LatestOnly } from '../pages/repository/search/latest_only.js';
import {
  filterText,
  parseQuery,
  withFilter,
  removeParts,
} from '../pages/repository/search/query_parts.js';
import { addQuery } from '../pages/repository/search/recent_queries.js';
import { firstLines, lineAt, lineCountOf, shownLines } from '../pages/repository/search/snippet.js';

test('filters, exact strings and expressions are told from words', () => {
  const query = 'lang:python -path:"my tests" symbol:Session "a \\"b\\"" /def \\w+/i';
  assert.deepEqual(
    parseQuery(query).map(({ kind, value, isNot }) => [kind, value, isNot]),
    [
      ['lang', 'python', false],
      ['path', 'my tests', true],
      ['symbol', 'Session', false],
      ['exact', 'a "b"', false],
      ['regex', '/def \\w+/i', false],
    ],
  );
});

test('quotes and slashes in a sentence are punctuation', () => {
  const query = 'why is "closed" logged in /tmp/ lang:python';
  assert.deepEqual(
    parseQuery(query).map(({ kind, value }) => [kind, value]),
    [['lang', 'python']],
  );
});

test('what only resembles a filter is text', () => {
  for (const query of [
    'std::vector path::join',
    'http://x.org/a file:///etc',
    'label: text',
    '/usr/lib/',
    '"no end',
    '\\lang:python',
    'lang:py\n"trace"',
  ]) {
    assert.deepEqual(parseQuery(query), [], query);
  }
});

test('a part is taken out of the query, and a filter put in once', () => {
  const query = 'close lang:python session';
  assert.equal(removeParts(query, parseQuery(query)[0]), 'close session');
  assert.equal(withFilter('close ', { kind: 'path', value: 'src/' }), 'close path:src/');
  assert.equal(withFilter(query, { kind: 'lang', value: 'python' }), query);
  assert.equal(withFilter('', { kind: 'path', value: 'a b' }), 'path:"a b"');
  assert.equal(filterText({ kind: 'path', value: 'x', isNot: true }), '-path:x');
});

test('a filter with odd letters is read back as it was put in', () => {
  for (const value of ['a b', 'q"uote s', 'back\\slash "x"']) {
    assert.equal(parseQuery(withFilter('', { kind: 'path', value }))[0]?.value, value);
  }
});

test('results offer to be narrowed down to what some but not all of them have', () => {
  const results = [
    { filePath: 'src/a/x.py', language: 'python' },
    { filePath: 'src/a/y.py', language: 'python' },
    { filePath: 'docs/z.md', language: 'markdown' },
    { filePath: 'top.py', language: 'python' },
  ];
  assert.deepEqual(facetsOf(results, []), [
    { kind: 'lang', value: 'python', count: 3 },
    { kind: 'lang', value: 'markdown', count: 1 },
    { kind: 'path', value: 'src/a/', count: 2 },
    { kind: 'path', value: 'docs/', count: 1 },
  ]);
  const parts = parseQuery('lang:python path:docs/');
  assert.deepEqual(facetsOf(results, parts).map(({ value }) => value), ['src/a/']); // prettier-ignore
});

test('a long result shows twelve lines, around the first mark if that is further down', () => {
  const what = { lineCount: 60, firstMarked: null, isExpanded: false };
  assert.deepEqual(shownLines(what), { begin: 0, end: 12, above: 0, below: 48 });
  assert.deepEqual(shownLines({ ...what, firstMarked: 30 }), { begin: 27, end: 39, above: 27, below: 21 }); // prettier-ignore
  assert.deepEqual(shownLines({ ...what, firstMarked: 59 }), { begin: 48, end: 60, above: 48, below: 0 }); // prettier-ignore
  assert.deepEqual(shownLines({ ...what, isExpanded: true }).below, 0);
  assert.deepEqual(shownLines({ ...what, lineCount: 14 }).below, 0);
});

test('lines are counted as an editor counts them', () => {
  assert.equal(lineAt('a\nb\nc', 4), 2);
  assert.equal(lineAt('a\nb', undefined), null);
  assert.equal(lineCountOf('a\nb\n'), 2);
  assert.equal(lineCountOf('a\nb'), 2);
  assert.equal(lineCountOf(''), 1);
  assert.equal(firstLines('a\nb\nc', 2), 'a\nb\n');
  assert.equal(firstLines('a\nb', 5), 'a\nb');
});

test('of queries the newest come first, each once, without what led to them', () => {
  assert.deepEqual(addQuery(['pars', 'close'], 'parse '), ['parse', 'close']);
  assert.deepEqual(addQuery(['close', 'parse'], 'parse'), ['parse', 'close']);
  assert.deepEqual(addQuery(['close'], '  '), ['close']);
  assert.equal(
    addQuery(
      Array.from({ length: 20 }, (_, n) => `q${n}x${n}`),
      'new',
    ).length,
    12,
  );
});

test('only the newest question is answered, and the ones between are not even asked', async () => {
  /** @type {Map<string, (answer: string) => void>} */
  const open = new Map();
  /** @type {string[]} */
  const heard = [];
  const latest = new LatestOnly(
    (/** @type {string} */ question) => new Promise((resolve) => open.set(question, resolve)),
    { answered: (answer) => heard.push(answer), failed: assert.fail },
  );
  latest.schedule('p');
  latest.schedule('pa');
  latest.schedule('par');
  assert.deepEqual([...open.keys()], ['p']);
  open.get('p')?.('old');
  await turnOfLoop();
  assert.deepEqual([...open.keys()], ['p', 'par']);
  assert.deepEqual(heard, []);
  open.get('par')?.('new');
  await turnOfLoop();
  assert.deepEqual(heard, ['new']);
  assert.equal(latest.isUnderWay, false);
});

test('a question that waits for more letters can be hurried, or dropped', async () => {
  /** @type {string[]} */
  const asked = [];
  /** @type {string[]} */
  const heard = [];
  const latest = new LatestOnly(
    async (/** @type {string} */ question) => (asked.push(question), question),
    { answered: (answer) => heard.push(answer), failed: assert.fail },
  );
  latest.schedule('slow', 60_000);
  assert.deepEqual(asked, []);
  latest.runNow();
  await turnOfLoop();
  assert.deepEqual(heard, ['slow']);
  latest.schedule('gone', 60_000);
  latest.cancel();
  latest.runNow();
  await turnOfLoop();
  assert.deepEqual(asked, ['slow']);
});

function turnOfLoop() {
  return new Promise((resolve) => setImmediate(resolve));
}
