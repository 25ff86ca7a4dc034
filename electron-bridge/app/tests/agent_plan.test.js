/** The plan of an agent, and what its diffs say. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isPlanning, planOf } from '../pages/repository/conversation/agent_plan.js';
import {
  applyMessage,
  newRun,
  runFromHistory,
} from '../pages/repository/conversation/agent_run.js';
import { countChanges, splitHunks } from '../pages/repository/conversation/tool_text.js';

const DIFF = `--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
-one
+two
 same
@@ -9,1 +9,2 @@
 kept
+more
`;

/** @returns {any} a use of the tool `plan` */
function plan(/** @type {object} */ input, status = 'success') {
  return { kind: 'tool', id: '1', name: 'plan', input, status };
}

test('a plan fills as its steps are done', () => {
  const items = [
    plan({ action: 'create', tasks: ['Look', { id: 7, desc: 'Change', status: 'in_progress' }] }),
    plan({ action: 'update', task_id: 1, status: 'completed' }),
    plan({ action: 'update', task_id: 7, status: 'odd' }),
  ];
  assert.deepEqual(planOf(items), [
    { id: 1, text: 'Look', status: 'completed' },
    { id: 7, text: 'Change', status: 'in_progress' },
  ]);
});

test('a plan that was skipped, or never made, is no list', () => {
  assert.deepEqual(planOf([plan({ action: 'skip' })]), []);
  assert.deepEqual(planOf([]), []);
  assert.deepEqual(planOf([plan({ action: 'create', tasks: 'nonsense' })]), []);
  assert.equal(isPlanning(plan({}, 'error')), false);
});

test('added and removed lines are counted, unless a part of the diff is left out', () => {
  assert.deepEqual(countChanges(DIFF), { added: 2, removed: 1 });
  assert.equal(countChanges(`${DIFF}[... the diff is longer ...]`), null);
  assert.equal(countChanges(`${DIFF}[... 12 characters left out ...]`), null);
});

test('each hunk of a diff is one of its own', () => {
  const hunks = splitHunks(DIFF);
  assert.equal(hunks.length, 2);
  assert.ok(hunks[1].startsWith('@@ -9,1 +9,2 @@'));
  assert.deepEqual(splitHunks(''), []);
});

test('what was denied stays denied in the history', () => {
  const use = { type: 'tool_use', id: 'c1', name: 'run_command', input: { command: 'x' } };
  const result = { type: 'tool_result', tool_use_id: 'c1', content: 'no', is_error: true };
  /** @type {any[]} */
  const messages = [
    { role: 'assistant', content: [use] },
    { role: 'user', content: [{ ...result, denied: true }] },
  ];
  const run = newRun();
  for (const message of messages) applyMessage(run, message);
  const again = runFromHistory(/** @type {any} */ ({ session: 's', firstChange: 1, messages }), 5);
  for (const { items } of [run, again]) {
    assert.equal(/** @type {any} */ (items[0]).status, 'denied');
  }
});
