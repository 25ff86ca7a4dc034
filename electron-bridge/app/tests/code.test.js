/** Colours and marks of code: nothing is lost, nothing becomes HTML. */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { colouredLines, MAX_COLOURED_CHARS } from '../pages/repository/code/colours.js';
import { fetchGrammar, grammarOf, highlighted } from '../pages/repository/code/grammars.js';
import { marksOf, marksWithin } from '../pages/repository/code/marks.js';
import { linesOf, runsOfHtml, withMarks } from '../pages/repository/code/runs.js';

const textOf = (/** @type {{ text: string }[]} */ runs) => runs.map(({ text }) => text).join('');

test('marks are ranges of the text, entities undone', () => {
  const content = 'if a < b && hello:\n';
  const highlightedText = 'if a &lt; b &amp;&amp; <mark>hello</mark>:\n';
  assert.deepEqual(marksOf(highlightedText, content), [[12, 17]]);
});

test('a text that writes <mark> itself keeps it as text', () => {
  const content = '<mark>x</mark> &lt; hello';
  const escaped = '&lt;mark&gt;x&lt;/mark&gt; &amp;lt; <mark>hello</mark>';
  assert.deepEqual(marksOf(escaped, content), [[20, 25]]);
});

test('there are no marks if the highlighted text is another text', () => {
  assert.deepEqual(marksOf('<mark>hello</mark> there', 'hello here'), []);
});

test('marks of a part are counted from its beginning and end with it', () => {
  assert.deepEqual(marksWithin([[0, 3], [5, 9], [20, 22]], 2, 8), [[0, 1], [3, 6]]); // prettier-ignore
});

test('of highlight.js only class names and text are taken', () => {
  const runs = runsOfHtml(
    '<span class="hljs-keyword">def</span> f(<span class="hljs-string">&quot;&lt;b&gt;&quot;</span>)',
  );
  assert.deepEqual(runs, [
    { text: 'def', kind: 'hljs-keyword' },
    { text: ' f(', kind: '' },
    { text: '"<b>"', kind: 'hljs-string' },
    { text: ')', kind: '' },
  ]);
});

test('a piece that begins inside a comment is coloured as one until it ends', async () => {
  await fetchGrammar('c');
  const lines = colouredLines(" * it isn't\n */\nint x = 'c';\n", 'c', [[3, 5]]);
  assert.equal(lines.map(textOf).join('\n'), " * it isn't\n */\nint x = 'c';");
  assert.deepEqual(
    [
      ...new Set(
        lines
          .slice(0, 2)
          .flat()
          .map(({ kind }) => kind),
      ),
    ],
    ['hljs-comment'],
  );
  assert.ok(lines[2].some(({ kind }) => kind === 'hljs-string'));
  const [pointer] = colouredLines('*p = 1;\n', 'c');
  assert.ok(pointer.every(({ kind }) => kind !== 'hljs-comment'));
});

test('inside another language the colours of the inner one count', () => {
  const runs = runsOfHtml(
    '<span class="language-css"><span class="hljs-attribute">color</span></span>',
  );
  assert.deepEqual(runs, [{ text: 'color', kind: 'hljs-attribute' }]);
});

test('a class name that is no class name of colours is left out', () => {
  assert.deepEqual(runsOfHtml('<span class="x onclick">a</span>'), [{ text: 'a', kind: '' }]);
});

test('runs are cut where marks begin and end, and the text stays whole', () => {
  const runs = [
    { text: 'hello_', kind: 'a' },
    { text: 'world', kind: 'b' },
  ];
  const cut = withMarks(runs, [
    [3, 8],
    [10, 11],
  ]);
  assert.deepEqual(cut, [
    { text: 'hel', kind: 'a', isMarked: false },
    { text: 'lo_', kind: 'a', isMarked: true },
    { text: 'wo', kind: 'b', isMarked: true },
    { text: 'rl', kind: 'b', isMarked: false },
    { text: 'd', kind: 'b', isMarked: true },
  ]);
});

test('lines are cut at line ends of either kind, without a line after the last', () => {
  const lines = linesOf([{ text: 'a\r\n\r\nb\n', kind: '', isMarked: false }]);
  assert.deepEqual(lines.map(textOf), ['a', '', 'b']);
});

test('code is coloured once its grammar is there, in one colour before', async () => {
  const code = 'def hello(name):\n    return "<script>"\n';
  assert.equal(highlighted(code, 'ruby'), null);
  assert.ok(await fetchGrammar('python'));
  const lines = colouredLines(code, 'python', [[4, 9]]);
  assert.deepEqual(lines.map(textOf), ['def hello(name):', '    return "<script>"']);
  assert.equal(lines[0][0].kind, 'hljs-keyword');
  assert.ok(lines[0].some(({ text, isMarked }) => text === 'hello' && isMarked));
  assert.ok(lines[1].some(({ text, kind }) => text === '"<script>"' && kind === 'hljs-string'));
});

test('what would take long to colour stays in one colour', async () => {
  assert.ok(await fetchGrammar('python'));
  const long = 'def f(): pass\n'.repeat(MAX_COLOURED_CHARS / 10);
  assert.ok(colouredLines(long, 'python').every((line) => line.every(({ kind }) => kind === '')));
});

test('every grammar that is named is among the vendored ones', () => {
  const folder = fileURLToPath(new URL('../pages/vendor/highlight/languages', import.meta.url));
  const there = new Set(readdirSync(folder).map((name) => name.replace('.min.js', '')));
  const languages =
    'python javascript jsx typescript tsx java kotlin go rust c cpp csharp ruby php';
  const more = 'swift scala lua bash haskell sql html css json yaml toml vue markdown make objc';
  for (const language of `${languages} ${more} batch py sh c++ terraform diff`.split(' ')) {
    assert.ok(there.has(grammarOf(language) ?? ''), language);
  }
  assert.equal(grammarOf('text'), null);
  assert.equal(grammarOf('constructor'), null);
});
