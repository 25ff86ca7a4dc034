/** The settings page's dealings with a real kernel, through the real SettingsSaver. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { KernelBridge } from '../../src/index.js';
import { carryOut } from '../../src/window_calls.js';
import { chatEndpoint } from '../../tests/support/chat_endpoint.js';
import { temporaryFolder } from '../../tests/support/fixtures.js';
import { BARE_ENVIRONMENT, realKernel } from '../../tests/support/transcript_player.js';
import { LISTS, newChatModel, newEmbeddingConfig } from '../pages/settings/form_model.js';
import { SettingsStore } from '../pages/settings/store.js';
import { SettingsSaver } from '../src/settings_saver.js';

const KEY = 'sk-invented-and-never-seen-again';

/** A page's `window.kernel` without the way between the processes. */
function windowKernel(
  /** @type {KernelBridge} */ bridge,
  /** @type {SettingsSaver} */ settingsSaver,
) {
  const host = (/** @type {string} */ name, /** @type {any} */ fields) => {
    assert.equal(name, 'saveSettings');
    return settingsSaver.save(fields.settings);
  };
  return new Proxy(/** @type {any} */ ({ host }), {
    get: (known, name) =>
      known[name] ??
      ((/** @type {any} */ fields) =>
        carryOut(bridge, /** @type {any} */ (null), null, String(name), fields ?? {})),
  });
}

async function opened(/** @type {import('node:test').TestContext} */ t) {
  const userData = await temporaryFolder(t, () => bridge.stop());
  const { command, args } = realKernel();
  const bridge = new KernelBridge({
    userData,
    command: [command, ...args],
    environ: BARE_ENVIRONMENT,
  });
  await bridge.start();
  const store = new SettingsStore(
    windowKernel(bridge, new SettingsSaver(bridge, userData)),
    () => {},
  );
  await store.load();
  assert.equal(store.failure, null);
  const onDisk = async () =>
    JSON.parse(await readFile(path.join(userData, 'settings.json'), 'utf8'));
  return { store, bridge, onDisk };
}

/** As if a person had filled in the card of a chat model. */
function addChatModel(/** @type {SettingsStore} */ store, /** @type {object} */ values) {
  const row = Object.assign(newChatModel(), values);
  store.setRows(LISTS.chat, [...store.value(LISTS.chat), row]);
  return row;
}

test('a first start shows the defaults, and saving changes only what was changed', async (t) => {
  const { store, onDisk } = await opened(t);
  assert.equal(store.isDirty, false);
  assert.ok(store.models.some(({ builtIn, fileSize }) => builtIn && fileSize > 0));
  const before = structuredClone(store.saved);
  store.set('searchSettings.searchLimit', '25');
  assert.equal(store.isDirty, true);
  assert.equal(await store.save(), true);
  assert.equal(store.isDirty, false);
  assert.deepEqual((await onDisk()).searchSettings, { ...before.searchSettings, searchLimit: 25 });
  assert.deepEqual((await onDisk()).performance, before.performance);
});

test('what the kernel refuses is shown at its field, and the file is not written', async (t) => {
  const { store, onDisk } = await opened(t);
  for (const field of ['searchSettings.searchLimit', `${LISTS.chat}[0].url`]) {
    store.fieldPaths.add(field); // as the fields do when they are drawn
  }
  store.set('searchSettings.searchLimit', '0');
  store.set('performance.maxThreads', '-1');
  addChatModel(store, { name: 'm', modelName: 'm', url: 'nowhere' });
  assert.equal(await store.save(), false);
  assert.deepEqual(Object.fromEntries(store.problems), {
    'searchSettings.searchLimit': 'This must be at least 1.',
    [`${LISTS.chat}[0].url`]: 'This must start with http:// or https:// and name a host.',
  });
  assert.match(store.failure.message, /^performance\.maxThreads must be at least 0, got -1$/);
  assert.equal(store.isDirty, true);
  await assert.rejects(onDisk(), { code: 'ENOENT' });
  store.discard();
  assert.equal(store.problems.size, 0);
  assert.equal(store.isDirty, false);
});

test('a key is stored before the settings that speak of it, and is gone from the page', async (t) => {
  const { store, bridge, onDisk } = await opened(t);
  addChatModel(store, {
    name: ' mine ',
    modelName: 'm',
    url: 'http://127.0.0.1:9/v1',
    _newKey: KEY,
  });
  assert.equal(await store.save(), true);
  const [entry] = (await onDisk()).conversationSettings.generationModel;
  assert.equal(entry.name, 'mine');
  assert.equal(entry.setApiKey, true);
  assert.deepEqual(await bridge.request('getApiKey', { name: 'mine' }), { apiKey: KEY });
  assert.equal(store.hasKey(store.value(`${LISTS.chat}[0]`)), true);
  assert.ok(!JSON.stringify([store.form, store.saved, [...store.stored]]).includes(KEY));
});

test('a key is forgotten when asked for, and with its model', async (t) => {
  const { store, bridge, onDisk } = await opened(t);
  const url = 'http://127.0.0.1:9/v1';
  addChatModel(store, { name: 'one', modelName: 'm', url, _newKey: KEY });
  addChatModel(store, { name: 'two', modelName: 'm', url, _newKey: KEY });
  assert.equal(await store.save(), true);
  store.value(`${LISTS.chat}[0]`)._forgetKey = true;
  store.setRows(LISTS.chat, [store.value(`${LISTS.chat}[0]`)]);
  assert.equal(await store.save(), true);
  const left = (await onDisk()).conversationSettings.generationModel;
  assert.deepEqual(
    left.map((/** @type {any} */ { name, setApiKey }) => [name, setApiKey]),
    [['one', false]],
  );
  for (const name of ['one', 'two']) {
    await assert.rejects(bridge.request('getApiKey', { name }), { code: 'API_KEY_NOT_FOUND' });
  }
});

test('a key that was typed is tried before anything is saved', async (t) => {
  const { store, bridge } = await opened(t);
  const url = await chatEndpoint(t);
  const row = addChatModel(store, { name: 'm', modelName: 'm', url, _newKey: 'sk-right' });
  await store.test(row);
  row._newKey = 'sk-wrong';
  await assert.rejects(store.test(row), { code: 'TESST_FAILED' });
  row._newKey = '';
  await assert.rejects(store.test(row), { code: 'TESST_FAILED' }, 'tried without a key');
  await assert.rejects(bridge.request('getApiKey', { name: 'm' }), { code: 'API_KEY_NOT_FOUND' });
});

test('the models in the box can be chosen without being listed', async (t) => {
  const { store, onDisk } = await opened(t);
  const [model] = store.models.filter(({ builtIn }) => builtIn);
  const rows = [newEmbeddingConfig(model.name, [])];
  store.setRows(LISTS.embedding, rows);
  assert.equal(await store.save(), true);
  const saved = await onDisk();
  assert.equal(saved.searchSettings.embeddingConfig.configs[0].modelName, model.name);
  assert.deepEqual(saved.localModelManagement.models, []);
});
