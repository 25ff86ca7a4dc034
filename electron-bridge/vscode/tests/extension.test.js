/** The extension and a real kernel, without a window. */

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { chatEndpoint } from '../../tests/support/chat_endpoint.js';
import { temporaryFolder } from '../../tests/support/fixtures.js';
import { realKernel } from '../../tests/support/transcript_player.js';
import './support/with_vscode.js';

const { openView, seen, window, workspace, Uri } = await import('./support/vscode.js');
const { activate, deactivate } = await import('../src/extension.js');
const { KernelLink } = await import('../src/kernel_link.js');

const HELLO = 'def hello():\n    return 1 < 2\n\n\ndef greet():\n    return hello()\n';

/** A folder with a file, and the extension in it. */
async function activated(t) {
  const context = { subscriptions: [], extension: { packageJSON: { version: '1' } } };
  const root = await temporaryFolder(t, async () => {
    await deactivate();
    for (const each of context.subscriptions) each.dispose();
  });
  const [folder, userData] = [path.join(root, 'demo'), path.join(root, 'userData')];
  await mkdir(folder);
  await mkdir(userData);
  await writeFile(path.join(folder, 'hello.py'), HELLO);
  await writeFile(path.join(userData, 'settings.json'), settings(await chatEndpoint(t)));
  process.env.CODEKERNEL_USER_DATA = userData;
  process.env.CODEKERNEL_STANDALONE = '1';
  seen.settings.path = realKernel().command;
  workspace.workspaceFolders = [{ uri: Uri.file(folder) }];
  await activate(context);
  return folder;
}

function settings(url) {
  const model = { name: 'model', modelName: 'scripted-1', url, setApiKey: false };
  const config = { name: 's', modelName: 'codekernel-static-v3', inputLength: 950, selected: true };
  return JSON.stringify({
    searchSettings: {
      searchLimit: 10,
      embeddingConfig: { configs: [config] },
      rerankConfig: { configs: [] },
    },
    localModelManagement: { models: [] },
    conversationSettings: { generationModel: [model], historyLength: 1000 },
    performance: { maxThreads: 0, useCuda: false, useCoreML: false },
  });
}

/** Asks until the file is indexed. */
async function searched(view) {
  for (let number = 1; ; number += 1) {
    view.say({ type: 'search', query: 'hello', number });
    const found = await view.next('results', (message) => message.number === number);
    if (found.results.length) return found;
  }
}

test('what a person does in a folder', async (t) => {
  const folder = await activated(t);
  const declared = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
  const offered = declared.contributes.commands.map(({ command }) => command);
  const internal = ['codekernel.openPlace'];
  assert.deepEqual([...seen.commands.keys()].sort(), [...offered, ...internal].sort());

  const search = openView(seen.views.get('codekernel.searchView'));
  assert.match(search.webview.html, /default-src 'none'/);
  const { results } = await searched(search);
  assert.equal(results[0].filePath, 'hello.py');
  assert.equal(results[0].folder, folder);
  search.say({ type: 'open', place: results[0], isPreview: true });
  while (!seen.opened.length) await new Promise(setImmediate);
  assert.equal(seen.opened[0].file, path.join(folder, 'hello.py'));
  assert.equal(seen.opened[0].preserveFocus, true);

  const document = {
    uri: Uri.file(path.join(folder, 'hello.py')),
    getText: () => 'hello',
    getWordRangeAtPosition: () => ({}),
  };
  const selection = { active: { line: 0 }, isSingleLine: true };
  window.activeTextEditor = { document, selection };
  await seen.commands.get('codekernel.callers')();
  const { provider } = seen.tree;
  const [definition] = await provider.getChildren();
  assert.equal(definition.label, 'hello');
  const [caller] = await provider.getChildren(definition);
  assert.equal(caller.label, 'greet');
  assert.equal(caller.place.beginLine, 5, 'the line of the call');
  assert.deepEqual(await provider.getChildren(caller), []);
  assert.match(provider.getTreeItem(caller).description, /hello\.py:6/);
  await seen.commands.get('codekernel.related')();
  assert.match(seen.tree.message, /hello\.py:1/);

  const ask = openView(seen.views.get('codekernel.askView'));
  ask.say({ type: 'ready' });
  const { models } = await ask.next('models');
  assert.deepEqual(models, ['model']);
  ask.say({ type: 'ask', query: 'What is hello?', model: 'model' });
  const { citations } = await ask.next('citations');
  assert.deepEqual([citations[0].filePath, citations[0].state], ['hello.py', 'verified']);
  await ask.next('ended');

  const [server] = seen.providers.get('codekernel').provideMcpServerDefinitions();
  assert.deepEqual(server.args, ['-m', 'codekernel', 'mcp', '--repo', folder]);
  assert.deepEqual(seen.shown, []);
});

test('a program that is not there is an error that says what to do', async () => {
  const link = new KernelLink(() => null, { onIndexing() {}, onLost() {} });
  await assert.rejects(link.open('/nowhere'), { code: 'KERNEL_NOT_FOUND', message: /settings/ });
});
