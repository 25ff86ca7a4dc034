/** The dialog that adds a chat model: what it asks, and when. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { NewChatModel, OTHER } from '../pages/settings/new_chat_model.js';

const PRESETS = [
  { name: 'openai', title: 'OpenAI', url: 'https://api/v1', keyPage: 'https://keys', local: false },
  { name: 'ollama', title: 'Ollama', url: 'http://127.0.0.1:1', keyPage: '', local: true },
  { name: 'vllm', title: 'vLLM', url: 'http://127.0.0.1:2/v1', keyPage: '', local: true },
];
const CHAT = { name: 'chat-1', contextTokens: 8192, inputPrice: 0.5, outputPrice: null };

/** @returns {any} a kernel that notes what it was asked */
function scriptedKernel({ servers = [], models = [CHAT] } = {}) {
  /** @type {any[]} */
  const asked = [];
  const say = (/** @type {string} */ name, /** @type {any} */ reply) => async (fields) => {
    asked.push([name, fields]);
    if (reply instanceof Error) throw reply;
    return reply;
  };
  return {
    asked,
    getModelPresets: say('presets', { presets: PRESETS }),
    findLocalServers: say('servers', { servers }),
    listEndpointModels: say('list', { models }),
    testApi: say('test', {}),
  };
}

test('a server that runs here comes first and is chosen, with its only model', async () => {
  const server = { preset: 'vllm', url: 'http://127.0.0.1:2/v1', models: [CHAT] };
  const model = new NewChatModel(scriptedKernel({ servers: [server] }), ['chat-1'], () => {});
  await model.load();
  assert.deepEqual(
    model.choices.map(({ name }) => name),
    ['vllm', 'openai', 'ollama'],
  );
  assert.equal(model.preset, 'vllm');
  assert.equal(model.isComplete, true);
  assert.deepEqual(model.row, {
    name: 'chat-1-2',
    modelName: 'chat-1',
    url: server.url,
    inputPrice: '0.5',
    outputPrice: '',
    contextTokens: '8192',
    _newKey: '',
  });
});

test('a provider is not asked before there is a key, and not twice', async () => {
  const kernel = scriptedKernel();
  const model = new NewChatModel(kernel, [], () => {});
  await model.load();
  model.choose('openai');
  await model.list();
  assert.equal(kernel.asked.filter(([name]) => name === 'list').length, 0);
  model.setKey(' sk-1 ');
  await model.list();
  await model.list();
  assert.deepEqual(
    kernel.asked.filter(([name]) => name === 'list'),
    [['list', { url: 'https://api/v1', api: 'sk-1' }]],
  );
});

test('an answer about an earlier key is dropped', async () => {
  const kernel = scriptedKernel();
  /** @type {(reply: any) => void} */
  let reply = () => {};
  kernel.listEndpointModels = () => new Promise((resolve) => (reply = resolve));
  const model = new NewChatModel(kernel, [], () => {});
  await model.load();
  model.choose(OTHER);
  model.setUrl('http://h/v1');
  const listing = model.list();
  model.setKey('another');
  reply({ models: [CHAT] });
  await listing;
  assert.equal(model.models, null);
});

test('a test that fails is kept as the reason, and can be repeated', async () => {
  const kernel = scriptedKernel();
  const works = kernel.testApi;
  kernel.testApi = async () => {
    throw new Error('no');
  };
  const model = new NewChatModel(kernel, [], () => {});
  await model.load();
  model.choose('ollama');
  model.setModel('m');
  assert.equal(await model.test(), false);
  assert.ok(model.testFailure);
  kernel.testApi = works;
  assert.equal(await model.test(), true);
  assert.equal(model.testFailure, null);
});
