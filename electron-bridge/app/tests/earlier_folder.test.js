import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { temporaryFolder } from '../../tests/support/fixtures.js';
import { takeOverWindows } from '../src/earlier_folder.js';

/** @param {string} folder */
async function fill(folder, content) {
  await mkdir(path.join(folder, 'browser', 'Local Storage', 'leveldb'), { recursive: true });
  await writeFile(path.join(folder, 'window-state.json'), content);
  await writeFile(path.join(folder, 'browser', 'Local Storage', 'leveldb', 'LOG'), content);
}

/** @param {string} folder */
const read = (folder) =>
  Promise.all(
    ['window-state.json', 'browser/Local Storage/leveldb/LOG'].map((name) =>
      readFile(path.join(folder, name), 'utf8'),
    ),
  );

test('windows and what pages remember are copied once, and the earlier folder stays', async (t) => {
  const folder = await temporaryFolder(t);
  const [earlier, now] = [path.join(folder, 'config'), path.join(folder, 'share', 'codekernel')];
  await fill(earlier, 'earlier');
  await mkdir(path.join(now, 'window-state.json.unfinished'), { recursive: true }); // a crash
  takeOverWindows(earlier, now);
  assert.deepEqual(await read(now), ['earlier', 'earlier']);
  assert.deepEqual(await read(earlier), ['earlier', 'earlier']);
  assert.equal(existsSync(path.join(now, 'window-state.json.unfinished')), false);
  await fill(now, 'now');
  takeOverWindows(earlier, now);
  assert.deepEqual(await read(now), ['now', 'now']);
});

test('nothing happens where there is nothing, or the folder is the same', async (t) => {
  const folder = await temporaryFolder(t);
  const errors = [];
  takeOverWindows(path.join(folder, 'gone'), path.join(folder, 'now'), (error) =>
    errors.push(error),
  );
  assert.equal(existsSync(path.join(folder, 'now')), false);
  await fill(folder, 'same');
  takeOverWindows(folder, `${folder}/`, (error) => errors.push(error));
  assert.deepEqual(errors, []);
});

test('an app whose files cannot be copied starts as well', async (t) => {
  const folder = await temporaryFolder(t);
  const earlier = path.join(folder, 'config');
  await fill(earlier, 'earlier');
  await writeFile(path.join(folder, 'file'), '');
  const errors = [];
  takeOverWindows(earlier, path.join(folder, 'file'), (error) => errors.push(error));
  assert.equal(errors.length, 2);
});
