/** The bridge and a real kernel: what a person does with the app, without the app. */

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { KernelBridge } from '../src/index.js';
import { chatEndpoint } from './support/chat_endpoint.js';
import { FAST_RESTART, collect, next, temporaryFolder } from './support/fixtures.js';
import { BARE_ENVIRONMENT, realKernel } from './support/transcript_player.js';

const SOURCE = 'def hello():\n    return 1 < 2\n';

async function bridged(t) {
  const folder = await temporaryFolder(t, () => bridge.stop());
  const userData = path.join(folder, '用户 data');
  const repo = path.join(folder, 'demo');
  await mkdir(userData);
  await mkdir(repo);
  await writeFile(path.join(repo, 'hello.py'), SOURCE);
  await writeFile(path.join(userData, 'settings.json'), settings(await chatEndpoint(t)));
  const { command, args } = realKernel();
  const bridge = new KernelBridge({
    userData,
    command: [command, ...args],
    environ: BARE_ENVIRONMENT,
    restarts: FAST_RESTART,
  });
  await bridge.start();
  await bridge.request('createRepo', { repoName: 'demo', path: repo });
  return { bridge, repo, userData };
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

/** Resolves when hello.py is indexed. */
function indexed(bridge) {
  return new Promise((resolve) => {
    bridge.on('embeddingStatus', (_session, { status }) => status === 'done' && resolve());
  });
}

test('a repository is opened, searched, asked about, and survives kill -9', async (t) => {
  const { bridge, repo, userData } = await bridged(t);
  const done = indexed(bridge);
  const session = await bridge.openRepo('demo');
  await done;
  assert.equal(session.path, repo);
  const { results } = await session.request('search', { query: 'hello' });
  assert.equal(results[0].filePath, 'hello.py');

  const question = { modelName: 'model', conversationId: 1, query: 'hello 会话?' };
  const parts = await collect(session.converse(question));
  const answer = parts.filter(({ type }) => type === 'answer').map(({ content }) => content);
  assert.equal(answer.join(''), 'It is `hello.py:1-2` that says so.');
  assert.equal(parts.at(-1).outcome, 'done');
  const history = path.join(userData, 'conversations', 'conversation-1.json');
  assert.equal(JSON.parse(await readFile(history, 'utf8')).topic, question.query);

  const unknown = session.converse({ ...question, modelName: 'nobody' });
  await assert.rejects(collect(unknown), { code: 'NETWORK_ERROR' });

  const again = next(session, 'prepared');
  process.kill(bridge.pid, 'SIGKILL');
  await again;
  const { results: found } = await session.request('search', { query: 'hello' });
  assert.equal(found[0].filePath, 'hello.py');
  await session.close();
  assert.deepEqual(await bridge.stop(), { code: 0, killed: false });
});

test('who watches hears that the list of repositories has changed', async (t) => {
  const { bridge } = await bridged(t);
  await bridge.request('watchRepos');
  const changed = next(bridge, 'reposChanged');
  await bridge.request('deleteRepo', { repoName: 'demo' });
  await changed;
});

test('a folder is opened without a name, and opened again after kill -9', async (t) => {
  const { bridge, repo } = await bridged(t);
  const folder = path.join(path.dirname(repo), 'other');
  await mkdir(folder);
  await writeFile(path.join(folder, 'hello.py'), SOURCE);
  const session = await bridge.openFolder(folder);
  await session.prepared();
  assert.deepEqual([session.repoName, session.path], ['other', folder]);
  const again = next(session, 'prepared');
  process.kill(bridge.pid, 'SIGKILL');
  await again;
  assert.equal(session.path, folder);
  const missing = bridge.openFolder(path.join(folder, 'gone'));
  await assert.rejects(missing, { code: 'INVALID_PATH' });
  await assert.rejects(bridge.request('openFolder', { path: folder }), { code: 'FORBIDDEN' });
});

test('many requests at once are all answered', async (t) => {
  const { bridge } = await bridged(t);
  const asked = Array.from({ length: 3000 }, () => bridge.request('getRepos'));
  for (const { repoList } of await Promise.all(asked)) assert.equal(repoList[0].name, 'demo');
});
