import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { RotatingLog } from '../src/rotating_log.js';
import { temporaryFolder } from './support/fixtures.js';

test('the log is cut into files, of which the oldest are deleted', async (t) => {
  const folder = await temporaryFolder(t);
  const log = new RotatingLog(path.join(folder, 'logs', 'a.log'), { largest: 200, keep: 2 });
  for (let number = 0; number < 20; number += 1) {
    log.write(`line ${number} ${'x'.repeat(60)}`);
    await log.flush();
  }
  const files = (await readdir(path.join(folder, 'logs'))).sort();
  assert.deepEqual(files, ['a.log', 'a.log.1', 'a.log.2']);
  const newest = await readFile(path.join(folder, 'logs', 'a.log'), 'utf8');
  assert.match(newest, /^\d{4}-\d\d-\d\dT.* line \d+ x+\n/);
  assert.match(newest, /line 19 /);
  assert.ok(newest.length <= 200);
  assert.equal((await stat(path.join(folder, 'logs'))).mode & 0o777, 0o700);
  assert.equal((await stat(path.join(folder, 'logs', 'a.log'))).mode & 0o777, 0o600);
});

test('a log that is there already is continued', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'a.log'), 'before\n');
  const log = new RotatingLog(path.join(folder, 'a.log'));
  log.write('after');
  await log.flush();
  assert.match(await readFile(path.join(folder, 'a.log'), 'utf8'), /^before\n.* after\n$/);
});

test('a place that cannot be written costs the lines and nothing else', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'a.log'));
  const log = new RotatingLog(path.join(folder, 'a.log'));
  log.write('lost');
  await log.flush();
});
