/** What an agent says and does, as the conversation page puts it together. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  applyDecision,
  hasRunCommands,
  lastText,
  mergeUndone,
  newRun,
  runFromHistory,
  settle,
  applyMessage,
  applyPermission,
  applySettled,
  waitingTool,
} from '../pages/repository/conversation/agent_run.js';
import {
  beginning,
  diffLines,
  shortArgument,
  shownInput,
} from '../pages/repository/conversation/tool_text.js';
import {
  markFailed,
  fromHistory,
  newTurn,
  applyPart,
} from '../pages/repository/conversation/turns.js';

/** @param {any[]} content @param {string} [id] @param {boolean} [complete] */
const said = (content, id = '1', complete = true) => ({
  role: 'assistant',
  content,
  meta: { id, complete },
});
/** @param {string} id @param {string} content @param {object} [more] */
const result = (id, content, more = {}) => ({
  role: 'user',
  content: [/** @type {any} */ ({ type: 'tool_result', tool_use_id: id, content, ...more })],
});
const text = (/** @type {string} */ words) => ({ type: 'text', text: words });
const thought = (/** @type {string} */ words) => ({ type: 'thinking', thinking: words });
const use = (/** @type {string} */ id, name = 'run_command', input = { command: 'ls' }) => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const tool = (/** @type {any} */ run, at = 0) => run.items[at];

test('a message grows in place, and only what has changed is told', () => {
  const run = newRun();
  const [first] = applyMessage(run, said([thought('Hm')], '1', false));
  assert.deepEqual(applyMessage(run, said([thought('Hm, so')], '1', false)), [first]);
  assert.equal(/** @type {any} */ (first).text, 'Hm, so');
  const [second] = applyMessage(run, said([thought('Hm, so'), text('I look.')], '1', false));
  const [third] = applyMessage(run, said([thought('Hm, so'), text('I look.'), use('a')]));
  assert.deepEqual(run.items, [first, second, third]);
  assert.deepEqual(applyMessage(run, said([text('Next')], '2')), [run.items[3]]);
});

test('a tool runs until its result comes, which may be an error', () => {
  const run = newRun();
  applyMessage(run, said([use('a')]));
  assert.equal(tool(run).status, 'running');
  applyMessage(run, result('a', 'files', { diff: '+x' }));
  assert.deepEqual(
    [tool(run).status, tool(run).output, tool(run).diff],
    ['success', 'files', '+x'],
  );
  applyMessage(run, said([use('b')], '2'));
  applyMessage(run, result('b', 'no', { is_error: true }));
  assert.equal(tool(run, 1).status, 'error');
  assert.deepEqual(applyMessage(run, result('nobody', 'x')), []);
});

test('a tool that asks waits, and one that was denied is no failure', () => {
  const run = newRun();
  applyMessage(run, said([use('a')]));
  applyPermission(run, { toolUseId: 'a', tool: 'run_command', danger: 'runs', input: {} });
  assert.equal(waitingTool(run), run.items[0]);
  applyDecision(tool(run), 'deny');
  assert.equal(waitingTool(run), undefined);
  applyMessage(run, result('a', 'not allowed', { is_error: true }));
  assert.equal(tool(run).status, 'denied');
  assert.ok(!hasRunCommands(run));
  applyMessage(run, said([use('b')], '2'));
  applyDecision(tool(run, 1), 'allow');
  applyMessage(run, result('b', 'ok'));
  assert.ok(hasRunCommands(run));
});

test('reminders are notes, blocks of which nothing is known are left out', () => {
  const run = newRun();
  applyMessage(run, { role: 'user', content: [/** @type {any} */ (text('Go on.'))] });
  applyMessage(run, said([{ type: 'hologram' }]));
  assert.deepEqual(run.items, [{ kind: 'note', text: 'Go on.' }]);
});

test('at the end nothing runs any more, and the last words are the answer', () => {
  const turn = newTurn({ query: 'q', modelName: 'm', time: 1, isAgent: true });
  const run = /** @type {any} */ (turn.agent);
  applyMessage(run, said([text('First.'), use('a')]));
  const changes = [{ filePath: 'a.py', kind: 'changed' }];
  applyPart(turn, { type: 'done', content: '', outcome: 'stopped', time: 7, changes });
  assert.equal(tool(run, 1).status, 'stopped');
  assert.deepEqual(
    [turn.state, turn.answer, run.time, run.changes],
    ['stopped', 'First.', 7, changes],
  );
  assert.deepEqual(settle(run), []);
  const lost = newTurn({ query: 'q', modelName: 'm', time: 1, isAgent: true });
  applyMessage(/** @type {any} */ (lost.agent), said([use('a')]));
  markFailed(lost, { code: 'KERNEL_CRASHED' });
  assert.equal(tool(lost.agent).status, 'stopped');
});

test('a turn of the history looks as it did', () => {
  const messages = /** @type {any[]} */ ([
    said([thought('t'), use('a')]),
    result('a', 'x'),
    said([text('End.')], '2'),
  ]);
  const undone = [{ filePath: 'a.py', state: 'restored' }];
  const agent = { session: 's', firstChange: 1, messages, undone };
  const turn = fromHistory({ query: 'q', retrieval: [], answer: 'End.', time: 9, agent });
  const run = /** @type {any} */ (turn.agent);
  assert.deepEqual(
    run.items.map((/** @type {any} */ { kind }) => kind),
    ['thinking', 'tool', 'text'],
  );
  assert.deepEqual([run.time, run.undone, run.changes, lastText(run)], [9, undone, [], 'End.']);
  assert.equal(runFromHistory({ ...agent, messages: [] }, 1).items.length, 0);
  assert.equal(fromHistory({ query: 'q', retrieval: [], answer: '', time: 1 }).agent, null);
});

test('of what was undone twice the later word counts', () => {
  const kept = { filePath: 'a', state: 'kept', reason: 'changed' };
  const other = { filePath: 'b', state: 'removed' };
  const now = { filePath: 'a', state: 'restored' };
  assert.deepEqual(mergeUndone([kept, other], [now]), [now, other]);
});

test('a row tells what matters, in one line', () => {
  assert.equal(shortArgument({ timeout: 5, command: 'make\n  test' }), 'make test');
  assert.equal(shortArgument({ content: 'x', path: 'a/b.py' }), 'a/b.py');
  assert.equal(shortArgument({ other: 'value' }), 'value');
  assert.equal(shortArgument({ number: 3 }), '');
  assert.equal(shortArgument({ command: 'x'.repeat(500) }).length, 121);
});

test('an input is shown by its arguments, a text as it is', () => {
  assert.deepEqual(shownInput({ path: 'a "b"', hunks: [1] }), [
    { name: 'path', value: 'a "b"' },
    { name: 'hunks', value: '[\n  1\n]' },
  ]);
});

test('a long output is cut where lines end, and says how many there are', () => {
  assert.deepEqual(beginning('a\nb\n'), { text: 'a\nb\n', isCut: false, lines: 2 });
  const long = beginning(Array.from({ length: 100 }, (_, at) => `line ${at}`).join('\n'));
  assert.deepEqual([long.isCut, long.lines, long.text.split('\n').length], [true, 100, 24]);
  assert.equal(beginning('x'.repeat(10_000)).text.length, 3_000);
});

test('the lines of a diff are told apart, its head is left out', () => {
  const diff = '--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n';
  assert.deepEqual(
    diffLines(diff).map(({ kind }) => kind),
    ['place', 'same', 'removed', 'added'],
  );
  assert.deepEqual(diffLines('--- not a head'), [{ kind: 'removed', text: '--- not a head' }]);
});

test('what another device has answered is shown, also against what was clicked here', () => {
  const run = newRun();
  applyMessage(run, said([use('a')]));
  applyPermission(run, { toolUseId: 'a', tool: 'run_command', danger: 'runs', input: {} });
  const settled = { toolUseId: 'a', allowed: false, device: 'lark', name: 'Ann' };
  applyDecision(tool(run), 'allow');
  assert.deepEqual(applySettled(run, settled), [tool(run)]);
  assert.equal(tool(run).status, 'denied');
  assert.deepEqual(applySettled(run, { ...settled, toolUseId: 'b' }), []);
  applyMessage(run, result('a', 'ran'));
  assert.deepEqual(applySettled(run, settled), []);
  assert.equal(tool(run).status, 'success');
});
