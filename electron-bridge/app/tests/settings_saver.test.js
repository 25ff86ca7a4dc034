import assert from 'node:assert/strict';
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { KernelBridge, KernelError } from '../../src/index.js';
import { temporaryFolder } from '../../tests/support/fixtures.js';
import { BARE_ENVIRONMENT, realKernel } from '../../tests/support/transcript_player.js';
import { SettingsSaver } from '../src/settings_saver.js';

const OLD = '{ "old": true } // by hand\n';

/** A kernel that only says yes or no; what it was asked, and what it could read then. */
async function setUp(t, { refuses = false } = {}) {
  const userData = await temporaryFolder(t);
  const file = (name) => path.join(userData, name);
  await writeFile(file('settings.json'), OLD);
  const asked = [];
  const kernel = {
    async request(type) {
      const name = type === 'checkSettings' ? 'settings-modified.json' : 'settings.json';
      asked.push([type, JSON.parse(await readFile(file(name), 'utf8'))]);
      if (refuses && type === 'checkSettings') {
        throw new KernelError('INVALID_SETTINGS', 'searchLimit must be at least 1.');
      }
    },
  };
  return { saver: new SettingsSaver(kernel, userData), asked, userData, file };
}

test('settings are written, checked, moved and used, in this order', async (t) => {
  const { saver, asked, userData, file } = await setUp(t);
  await saver.save({ a: 1 });
  assert.deepEqual(asked, [
    ['checkSettings', { a: 1 }],
    ['updateSettings', { a: 1 }],
  ]);
  assert.deepEqual(await readdir(userData), ['settings.json']);
  assert.equal((await stat(file('settings.json'))).mode & 0o777, 0o600);
});

test('settings that the kernel refuses leave the old ones as they were', async (t) => {
  const { saver, userData, file } = await setUp(t, { refuses: true });
  await assert.rejects(saver.save({ a: 0 }), { code: 'INVALID_SETTINGS', message: /searchLimit/ });
  assert.equal(await readFile(file('settings.json'), 'utf8'), OLD);
  assert.deepEqual(await readdir(userData), ['settings.json']);
});

test('settings that are a link stay one', { skip: process.platform === 'win32' }, async (t) => {
  const { saver, userData, file } = await setUp(t);
  await mkdir(file('dotfiles'));
  await rename(file('settings.json'), file('dotfiles/mine.json'));
  await symlink(file('dotfiles/mine.json'), file('settings.json'));
  await saver.save({ a: 1 });
  assert.ok((await lstat(file('settings.json'))).isSymbolicLink());
  assert.deepEqual(JSON.parse(await readFile(file('dotfiles/mine.json'), 'utf8')), { a: 1 });
  assert.deepEqual(await readdir(userData), ['dotfiles', 'settings.json']);
});

test('two windows that save at once take turns', async (t) => {
  const { saver, asked, file } = await setUp(t);
  await Promise.all([saver.save({ a: 1 }), saver.save({ a: 2 })]);
  assert.deepEqual(
    asked.map(([type, { a }]) => `${type} ${a}`),
    ['checkSettings 1', 'updateSettings 1', 'checkSettings 2', 'updateSettings 2'],
  );
  assert.deepEqual(JSON.parse(await readFile(file('settings.json'), 'utf8')), { a: 2 });
});

test('settings of another program that saves at the same time are not taken for these', async (t) => {
  const { saver, asked, file } = await setUp(t);
  const { request } = saver.kernel;
  const others = [
    () => writeFile(file('settings-modified.json'), '{ "theirs": 1 }'), // it writes before the check
    () => rm(file('settings-modified.json')), // it has finished, and the check finds no file
  ];
  saver.kernel.request = async (type) => {
    if (type === 'checkSettings') await others.shift()?.();
    return request(type);
  };
  await saver.save({ a: 1 });
  assert.deepEqual(asked, [
    ['checkSettings', { theirs: 1 }],
    ['checkSettings', { a: 1 }],
    ['updateSettings', { a: 1 }],
  ]);
});

test('after a failure the next window can save', async (t) => {
  const { saver } = await setUp(t);
  await assert.rejects(saver.save(null), { code: 'WRONG_PARAM' });
  await assert.rejects(saver.save([]), { code: 'WRONG_PARAM' });
  await saver.save({ a: 3 });
});

test('a folder that cannot be written is named', async (t) => {
  const { saver, file } = await setUp(t);
  await mkdir(file('settings-modified.json'));
  await writeFile(path.join(file('settings-modified.json'), 'in the way'), '');
  await assert.rejects(saver.save({ a: 1 }), {
    code: 'INVALID_PATH',
    message: /settings-modified/,
  });
  await chmod(file('settings-modified.json'), 0o700);
  assert.equal(await readFile(file('settings.json'), 'utf8'), OLD);
});

test('a real kernel says what is wrong, and takes what is right', async (t) => {
  const userData = await temporaryFolder(t, () => bridge.stop());
  const { command, args } = realKernel();
  const bridge = new KernelBridge({
    userData,
    command: [command, ...args],
    environ: BARE_ENVIRONMENT,
  });
  await bridge.start();
  const saver = new SettingsSaver(bridge, userData);
  const settings = (searchLimit) => ({
    searchSettings: {
      searchLimit,
      embeddingConfig: { configs: [] },
      rerankConfig: { configs: [] },
    },
    localModelManagement: { models: [] },
    conversationSettings: { generationModel: [], historyLength: 100 },
    performance: { maxThreads: 0, useCuda: false, useCoreML: false },
  });
  await saver.save(settings(7));
  await assert.rejects(saver.save(settings(0)), {
    code: 'INVALID_SETTINGS',
    message: /searchLimit/,
  });
  const kept = JSON.parse(await readFile(path.join(userData, 'settings.json'), 'utf8'));
  assert.equal(kept.searchSettings.searchLimit, 7);
});
