/** Turns and citations of a conversation. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  checkCitation,
  placeInCode,
  placesIn,
} from '../pages/repository/conversation/citations.js';
import { decodeEntities } from '../pages/repository/conversation/entities.js';
import { safeLink } from '../pages/repository/conversation/links.js';
import {
  markFailed,
  fromHistory,
  isRunning,
  newTurn,
  shownFiles,
  applyPart,
} from '../pages/repository/conversation/turns.js';

const KNOWN = new Set(['kernel/search/searcher.py', 'hello.py']);
const EXCERPT = {
  content: 'def hello(): ...\n',
  metadata: '',
  beginLine: 0,
  endLine: 1,
  filePath: 'hello.py',
};

test('places are found in text and in code, as the kernel finds them', () => {
  assert.deepEqual(placesIn('See hello.py:3, or src/a.ts:10-20.', KNOWN), [
    'See ',
    { text: 'hello.py:3', path: 'hello.py', begin: 3, end: 3 },
    ', or ',
    { text: 'src/a.ts:10-20', path: 'src/a.ts', begin: 10, end: 20 },
    '.',
  ]);
  assert.deepEqual(placeInCode('./hello.py:L1-L2', KNOWN), {
    text: './hello.py:L1-L2',
    path: 'hello.py',
    begin: 1,
    end: 2,
  });
});

test('the end of a path is enough if only one file can be meant', () => {
  const place = placeInCode('searcher.py:40', KNOWN);
  assert.equal(place?.path, 'kernel/search/searcher.py');
});

test('hosts with a port and times of day are no places', () => {
  assert.deepEqual(placesIn('at 10:30 on localhost:8080', KNOWN), ['at 10:30 on localhost:8080']);
  assert.equal(placeInCode('std::vector', KNOWN), null);
});

test('a citation says what the kernel found, and where the lines are now', () => {
  const place = { text: 'hello.py:1-2', path: 'hello.py', begin: 1, end: 2 };
  const entry = { text: 'hello.py:1-2', filePath: 'hello.py', begin: 1, end: 2 };
  assert.equal(checkCitation(place, []).state, 'unchecked');
  assert.equal(checkCitation(place, [{ ...entry, state: 'verified' }]).state, 'verified');
  const moved = checkCitation(place, [{ ...entry, state: 'moved', nowBegin: 11, nowEnd: 12 }]);
  assert.deepEqual([moved.state, moved.begin, moved.end], ['moved', 11, 12]);
  const stale = { ...entry, state: 'stale', reason: 'the lines have changed since' };
  assert.equal(checkCitation(place, [stale]).state, 'stale');
  const missing = { ...entry, state: 'stale', reason: 'the file was not among what was retrieved' };
  assert.equal(checkCitation(place, [missing]).state, 'missing');
});

test('a turn grows part by part until done', () => {
  const turn = newTurn({ query: 'hello?', modelName: 'm', time: 1 });
  assert.ok(isRunning(turn));
  applyPart(turn, { type: 'annotation', content: 'Looking' });
  applyPart(turn, { type: 'search', content: 'hello' });
  applyPart(turn, { type: 'result', content: EXCERPT });
  assert.equal(turn.rounds[0].isOpen, true);
  applyPart(turn, { type: 'doneRetrieval', content: '' });
  applyPart(turn, { type: 'answer', content: 'It is ' });
  applyPart(turn, { type: 'answer', content: 'there.' });
  assert.equal(turn.state, 'answering');
  applyPart(turn, {
    type: 'done',
    content: '',
    outcome: 'done',
    citations: [],
    masked: 2,
    unsaved: 'The disk is full.',
    usage: { input_token: 5, output_token: 6, exact: true },
  });
  assert.equal(turn.state, 'done');
  assert.equal(turn.answer, 'It is there.');
  assert.equal(turn.masked, 2);
  assert.equal(turn.unsaved, 'The disk is full.');
  assert.deepEqual([...shownFiles(turn)], ['hello.py']);
  assert.deepEqual(turn.rounds, [
    { annotation: 'Looking', search: ['hello'], result: [EXCERPT], isOpen: false },
  ]);
});

test('a failure keeps what was shown, and what done said of it', () => {
  const turn = applyPart(newTurn({ query: 'q', modelName: 'm', time: 1 }), {
    type: 'answer',
    content: 'Half',
  });
  const failure = {
    name: 'KernelError',
    code: 'NETWORK_ERROR',
    message: 'gone',
    done: { type: 'done', content: '', outcome: 'failed', masked: 1 },
  };
  markFailed(turn, failure);
  assert.deepEqual([turn.state, turn.answer, turn.masked], ['failed', 'Half', 1]);
  assert.equal(turn.failure, failure);
});

test('an aborted turn is a stopped one', () => {
  const turn = markFailed(newTurn({ query: 'q', modelName: 'm', time: 1 }), { code: 'ABORTED' });
  assert.deepEqual([turn.state, turn.failure], ['stopped', null]);
});

test('an old file of the history, without additions, is a finished turn', () => {
  const turn = fromHistory({ query: 'q', retrieval: [], answer: 'a', time: 7 });
  assert.deepEqual([turn.state, turn.masked, turn.usage, turn.error], ['done', 0, null, '']);
});

test('only https is followed, and never with a name that hides the host', () => {
  assert.deepEqual(safeLink('https://example.org/a?b'), {
    href: 'https://example.org/a?b',
    host: 'example.org',
  });
  for (const href of [
    'javascript:alert(1)',
    'http://example.org',
    'file:///etc/passwd',
    'data:text/html,x',
    'https://good.org@evil.org/',
    'relative/path',
  ]) {
    assert.equal(safeLink(href), null, href);
  }
});

test('entities of text are undone, and what is none stays', () => {
  assert.equal(
    decodeEntities('a &lt;b&gt; &amp;amp; &#x41;&#66; &nope; &#xD800; &'),
    'a <b> &amp; AB &nope; &#xD800; &',
  );
});
