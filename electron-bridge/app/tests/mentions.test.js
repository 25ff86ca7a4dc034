/** Names after an @ in a question. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  mentionAt,
  mentionsIn,
  putMention,
  suggestionsOf,
} from '../pages/repository/conversation/mentions.js';

test('names are found as the kernel finds them', () => {
  const values = (/** @type {string} */ draft) => mentionsIn(draft).map(({ value }) => value);
  assert.deepEqual(values('Compare @src/a.py:3-9, and @Session.close.'), [
    'src/a.py:3-9',
    'Session.close',
  ]);
  assert.deepEqual(values('mail me@example.com (@x) @ all'), []);
});

test('what is written at the caret is offered names, and replaced by the one that is taken', () => {
  const draft = 'What does @gre do?';
  const place = mentionAt(draft, 14);
  assert.deepEqual(place, { value: 'gre', from: 10, to: 14 });
  assert.equal(mentionAt(draft, 18), null);
  assert.deepEqual(putMention(draft, /** @type {any} */ (place), 'greet.py'), {
    draft: 'What does @greet.py do?',
    caret: 19,
  });
  const [taken] = mentionsIn('a @greet.py b');
  assert.equal(putMention('a @greet.py b', taken, '').draft, 'a b');
});

test('files come before symbols, each once, and none with a space', () => {
  const results = [
    { filePath: 'a.py', beginLine: 0, endLine: 3, symbol: 'greet' },
    { filePath: 'a.py', beginLine: 5, endLine: 9, symbol: '' },
    { filePath: 'my file.py', beginLine: 0, endLine: 1, symbol: '' },
  ];
  assert.deepEqual(
    suggestionsOf(results).map(({ value, label }) => [value, label]),
    [
      ['a.py', 'a.py'],
      ['a.py:1-3', 'greet'],
    ],
  );
});
