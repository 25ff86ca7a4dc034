/** Cases that the desktop app and `codekernel web` must answer alike; Python runs them, too. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { findEditorCommand } from '../app/src/editors.js';
import { SettingsSaver } from '../app/src/settings_saver.js';
import { PartQueue } from '../src/part_queue.js';
import { RestartPolicy } from '../src/restarts.js';
import { StatusBatch } from '../src/status_batch.js';
import { temporaryFolder } from './support/fixtures.js';

const CASES = JSON.parse(
  readFileSync(new URL('../../tests/fixtures/web_hosts.json', import.meta.url), 'utf8'),
);

test('the same editor is chosen', () => {
  const { file, line, cases } = CASES.editors;
  for (const { environ, programs, expected } of cases) {
    const find = (program) => (programs.includes(program) ? `/bin/${program}` : null);
    assert.deepEqual(findEditorCommand(file, line, { environ, find }), expected);
  }
});

test('parts that wait are joined alike', async () => {
  for (const { waiting, expected } of CASES.parts) {
    const queue = new PartQueue();
    for (const part of waiting) queue.push(part);
    const read = [];
    while (queue.length > 0) read.push(await queue.next());
    assert.deepEqual(read, expected);
  }
});

test('of each file the latest status is sent', () => {
  for (const { messages, expected } of CASES.statuses) {
    const delivered = [];
    const batch = new StatusBatch((items) => delivered.push(...items));
    for (const message of messages) batch.add(message);
    batch.flush();
    assert.deepEqual(delivered, expected);
  }
});

test('what crashes is started again as often', () => {
  for (const { events, again } of CASES.restarts) {
    const policy = new RestartPolicy({ now: () => 0 });
    const restarted = [];
    for (const event of events) {
      if (event === 'running') policy.markRunning();
      else restarted.push(policy.nextDelay() !== null);
    }
    assert.deepEqual(restarted, again);
  }
});

test('settings are written with the same bytes', async (t) => {
  for (const { settings, text } of CASES.settings) {
    const userData = await temporaryFolder(t);
    await new SettingsSaver({ request: async () => {} }, userData).save(settings);
    assert.equal(await readFile(path.join(userData, 'settings.json'), 'utf8'), text);
  }
});
