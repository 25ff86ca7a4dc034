/** Queries, facets and snippets of the search, and that old answers are dropped. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { facetGroups, toggleFacet } from '../pages/repository/search/facets.js';
import { LatestOnly } from '../pages/repository/search/latest_only.js';
import {
  filterText,
  parseQuery,
  withFilter,
  removeParts,
} from '../pages/repository/search/query_parts.js';
import { wholeWords } from '../pages/repository/code/marks.js';
import { addQuery, savedQueries, toggleSaved } from '../pages/repository/search/recent_queries.js';
import { firstLines } from '../pages/repository/search/snippet.js';
import { bestLines } from '../pages/repository/search/best_lines.js';
import { rowsByFile } from '../pages/repository/search/result_groups.js';
import { isSameScope, keyOfFile, keyOfResult, scopeOf } from '../pages/repository/search/scope.js';

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

test('hits offer to be narrowed down to what some but not all of them have', () => {
  const value = (/** @type {string} */ name, /** @type {number} */ count) => ({
    value: name,
    count,
  });
  const facets = {
    total: 4,
    languages: [value('python', 3), value('markdown', 1)],
    folders: [value('src/', 2), value('src/a/', 2), value('docs/', 1)],
    kinds: [value('code', 4)],
    symbols: [],
  };
  assert.deepEqual(
    facetGroups(facets, 'x lang:python').map(({ kind, values }) => [
      kind,
      ...values.map((one) => `${one.value} ${one.count}${one.isChosen ? ' chosen' : ''}`),
    ]),
    [
      ['lang', 'python 3 chosen', 'markdown 1'],
      ['path', 'src/a/ 2', 'docs/ 1'],
    ],
  );
  assert.equal(toggleFacet('x', 'kind', 'test'), 'x kind:test');
  assert.equal(toggleFacet('x kind:test', 'kind', 'test'), 'x');
  assert.deepEqual(facetGroups(null, ''), []);
});

test('a kind of files is a filter, other words with a colon are words', () => {
  assert.deepEqual(
    parseQuery('x kind:tests -kind:docs kind:class').map(({ kind, value }) => `${kind} ${value}`),
    ['kind tests', 'kind docs'],
  );
});

test('a result shows the lines with the words, not its imports', () => {
  const content = [
    'import { close } from "./session";',
    '',
    'const a = 1;',
    'export function open(session) {',
    '  const b = 2;',
    '}',
    'export function finish(session) {',
    '  session.close();',
    '  return session;',
    '}',
  ].join('\n');
  const marks = [...content.matchAll(/close|session/g)].map(
    ({ index, 0: word }) => /** @type {const} */ ([index, index + word.length]),
  );
  const { begin, end, lineCount } = bestLines({ content, marks, metadata: '' });
  assert.deepEqual([begin, end, lineCount], [6, 9, 10]);
});

test('a result without a word of the query shows its definition', () => {
  const content =
    '# licence\nimport os\n\n\nclass  Session(Base):\n    """x"""\n    a = 1\n    b = 2\n';
  const metadata = ' <FilePath> a.py\n<Path> Session\n<Signature> class Session(Base):\n';
  const { begin } = bestLines({ content, marks: [], metadata });
  assert.equal(begin, 4);
  assert.deepEqual(bestLines({ content: 'a\nb\n', marks: [], metadata }), {
    begin: 0,
    end: 2,
    lineCount: 2,
  });
});

test('results stand with their file, where its best one stands', () => {
  const result = (/** @type {string} */ filePath, /** @type {number} */ chunkId) =>
    /** @type {any} */ ({ filePath, chunkId });
  const results = [result('a', 1), result('b', 2), result('a', 3), result('a', 4)];
  const shown = (/** @type {Set<string>} */ open) =>
    rowsByFile(results, open).map((row) => [
      row.result.chunkId,
      row.isFirst,
      row.isLast,
      row.hidden,
    ]);
  assert.deepEqual(shown(new Set()), [
    [1, true, false, 0],
    [3, false, true, 1],
    [2, true, true, 0],
  ]);
  assert.equal(shown(new Set([keyOfFile(results[0])])).length, 4);
});

test('all repositories are one scope, and the own one is none', () => {
  const repos = { own: 'a', all: ['a', 'b', 'c'] };
  assert.deepEqual(scopeOf(['c', 'b', 'a'], repos), ['*']);
  assert.deepEqual(scopeOf(['c', 'a'], repos), ['a', 'c']);
  assert.deepEqual(scopeOf(['b'], repos), ['b']);
  assert.deepEqual(scopeOf(['a'], repos), []);
  assert.deepEqual(scopeOf([], repos), []);
  assert.equal(isSameScope(undefined, []), true);
  assert.equal(isSameScope(['a'], ['a', 'c']), false);
});

test('files and results of the same name in two repositories are two', () => {
  const result = (/** @type {string} */ repoName) =>
    /** @type {any} */ ({ repoName, chunkId: 1, filePath: 'README.md' });
  const both = [result('a'), result('b')];
  assert.equal(rowsByFile(both, new Set()).filter(({ isFirst }) => isFirst).length, 2);
  assert.equal(new Set(both.map(keyOfResult)).size, 2);
});

test('a mark reaches as far as its word, but not in Chinese', () => {
  assert.deepEqual(wholeWords([[3, 7]], 'getUserName()'), [[0, 11]]);
  assert.deepEqual(wholeWords([[0, 3], [3, 7]], 'getUser x'), [[0, 7]]); // prettier-ignore
  assert.deepEqual(wholeWords([[1, 3]], '的登录验证'), [[1, 3]]);
});

test('a query is saved, and forgotten again', () => {
  /** @type {Map<string, string>} */
  const kept = new Map();
  const localStorage = {
    getItem: (/** @type {string} */ name) => kept.get(name) ?? null,
    setItem: (/** @type {string} */ name, /** @type {string} */ value) => kept.set(name, value),
  };
  Object.defineProperty(globalThis, 'localStorage', { value: localStorage, configurable: true });
  toggleSaved('demo', 'b ');
  toggleSaved('demo', 'a');
  assert.deepEqual(savedQueries('demo'), ['a', 'b']);
  toggleSaved('demo', 'b');
  assert.deepEqual(savedQueries('demo'), ['a']);
  assert.deepEqual(savedQueries('other'), []);
});

test('lines are counted as an editor counts them', () => {
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

test('a question that waits for more letters can be dropped', async () => {
  /** @type {string[]} */
  const asked = [];
  const latest = new LatestOnly(async (/** @type {string} */ question) => asked.push(question), {
    answered: () => {},
    failed: assert.fail,
  });
  latest.schedule('gone', 60_000);
  latest.cancel();
  latest.schedule('kept');
  await turnOfLoop();
  assert.deepEqual(asked, ['kept']);
  assert.equal(latest.isUnderWay, false);
});

function turnOfLoop() {
  return new Promise((resolve) => setImmediate(resolve));
}
