/** `window.kernel` of a browser against a real `codekernel web`; Node stands in for the page. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../../', import.meta.url);
const { chatEndpoint } = await import(
  new URL('electron-bridge/tests/support/chat_endpoint.js', ROOT)
);
const { temporaryFolder } = await import(
  new URL('electron-bridge/tests/support/fixtures.js', ROOT)
);
const PAGES = new URL('electron-bridge/app/pages/', ROOT);
const { Connection } = await import(new URL('web/connection.js', PAGES));
const { makeWindowKernel } = await import(new URL('web/window_kernel.js', PAGES));

const PYTHON = process.env.CODEKERNEL_PYTHON;
const KNOWN_ENDPOINT = 'https://api.deepseek.com/v1/chat/completions';
const AT_ONCE = { delaysMs: [1], maxAttempts: 3 };

/** A running `codekernel web` with a repository `demo`, and the secret that a page got. */
async function served(t) {
  const folder = await temporaryFolder(t, () => server.kill());
  const [userData, repo] = [path.join(folder, 'userData'), path.join(folder, 'demo')];
  await mkdir(userData);
  await mkdir(repo);
  await writeFile(path.join(repo, 'hello.py'), 'def hello():\n    return 1 < 2\n');
  const example = await readFile(new URL('userData.example/settings.json', ROOT), 'utf8');
  const settings = example.replace(KNOWN_ENDPOINT, await chatEndpoint(t));
  await writeFile(path.join(userData, 'settings.json'), settings);
  const child = spawn(PYTHON, ['-m', 'codekernel', 'web', '--no-browser'], {
    cwd: repo,
    env: {
      CODEKERNEL_USER_DATA: userData,
      CODEKERNEL_VAULT_KEY: 'a'.repeat(64),
      PYTHONPATH: fileURLToPath(new URL('kernel', ROOT)),
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  const server = {
    kill: () => {
      child.kill('SIGKILL');
      return ended;
    },
    stop: () => {
      child.kill('SIGINT');
      return ended;
    },
  };
  const [line] = await once(createInterface(child.stdout), 'line');
  server.url = new URL(line.replace('Open ', ''));
  server.secret = await secretFrom(server.url);
  return server;
}

async function secretFrom(url) {
  const answer = await fetch(url);
  return /name="codekernel-secret" content="([^"]+)"/.exec(await answer.text())[1];
}

/** A page of that server; what it is told is kept, and its connection can be cut. */
async function page(t, server, options = AT_ONCE) {
  const { host } = server.url;
  const Real = globalThis[Symbol.for('real WebSocket')] ?? WebSocket;
  globalThis[Symbol.for('real WebSocket')] = Real;
  let last;
  globalThis.WebSocket = function (address, protocols) {
    last = new Real(address, { protocols, headers: { origin: `http://${host}` } });
    return last;
  };
  const subprotocols = () => ['codekernel', server.secret];
  const connection = new Connection(`ws://${host}/kernel`, subprotocols, options);
  const kernel = makeWindowKernel(connection);
  const told = [];
  const waiting = new Set();
  for (const type of [
    'embeddingStatus',
    'kernelState',
    'sessionPrepared',
    'sessionCrashed',
    'sessionLost',
  ]) {
    kernel.on(type, (news) => {
      told.push({ type, news });
      for (const look of waiting) look();
    });
  }
  /** Resolves when something was told from now on. */
  const next = (isWanted, since = told.length) =>
    new Promise((resolve) => {
      const look = () => {
        const found = told.slice(since).find(isWanted);
        if (!found) return;
        waiting.delete(look);
        resolve(found.news);
      };
      waiting.add(look);
      look();
    });
  connection.start();
  t.after(() => last.close());
  return { kernel, told, next, cut: () => last.close(4000) };
}

const ofType = (type) => (it) => it.type === type;
const becomes = (state) => (it) => it.type === 'kernelState' && it.news.state === state;

async function opened({ kernel, next }) {
  const prepared = next(ofType('sessionPrepared'));
  const { state } = await kernel.openRepo({ repoName: 'demo' });
  if (state !== 'prepared') await prepared;
}

test('a page asks, is answered and is told', async (t) => {
  const server = await served(t);
  const { kernel, told, next } = await page(t, server);
  assert.deepEqual(
    (await kernel.getRepos()).repoList.map(({ name }) => name),
    ['demo'],
  );
  assert.equal((await kernel.host('hostInfo')).kind, 'browser');
  await assert.rejects(kernel.search({ query: 'x' }), { code: 'SESSION_NOT_FOUND' });
  const indexed = next(
    (it) => it.type === 'embeddingStatus' && it.news.some(({ status }) => status === 'done'),
  );
  await opened({ kernel, next });
  await indexed;
  const { results } = await kernel.search({ query: 'hello' });
  assert.equal(results[0].filePath, 'hello.py');
  assert.equal(await kernel.hasApiKey({ name: 'nobody' }), false);
  assert.equal(await kernel.closeRepo(), undefined);
  assert.ok(told.some(becomes('running')));
  assert.equal('getApiKey' in kernel, false);
  await assert.rejects(kernel.host('getApiKey', { name: 'x' }), { code: 'FORBIDDEN' });
  assert.throws(() => kernel.on('anything', () => {}), TypeError);
  const large = { query: 'x'.repeat(17 * 1024 * 1024) };
  await assert.rejects(kernel.search(large), { name: 'KernelError', code: 'TOO_LARGE' });
});

test('a conversation comes part by part and ends', async (t) => {
  const server = await served(t);
  const seen = await page(t, server);
  await opened(seen);
  const { kernel } = seen;
  const { modelList } = await kernel.getGenerationModels();
  await kernel.setApiKey({ name: modelList[0].name, apiKey: 'sk-right' });
  const question = { modelName: modelList[0].name, conversationId: 1, query: 'hello?' };
  const parts = [];
  await kernel.converse(question, (part) => parts.push(part)).finished;
  const answer = parts.filter(({ type }) => type === 'answer').map(({ content }) => content);
  assert.equal(answer.join(''), 'It is `hello.py:1-2` that says so.');
  assert.equal(parts.at(-1).type, 'done');
  const unknown = kernel.converse({ ...question, modelName: 'nobody' }, () => {});
  await assert.rejects(unknown.finished, { name: 'KernelError' });
  unknown.stop();
});

test('after a break the page is connected again and has its repository', async (t) => {
  const server = await served(t);
  const seen = await page(t, server);
  const { kernel, next, cut } = seen;
  await opened(seen);
  const broken = next(becomes('restarting'));
  const crashed = next(ofType('sessionCrashed'));
  const prepared = next(ofType('sessionPrepared'));
  const running = next(becomes('running'));
  const underWay = kernel.getAvailableHardware();
  cut();
  await assert.rejects(underWay, { name: 'KernelError', code: 'KERNEL_CRASHED' });
  assert.equal((await broken).failure.code, 'KERNEL_CRASHED');
  assert.equal((await crashed).failure.code, 'KERNEL_CRASHED');
  const askedMeanwhile = kernel.getIndexStatus();
  await running;
  await prepared;
  assert.ok(await askedMeanwhile, 'it waited for the repository to be open again');
});

test('a repository that is gone after the break is lost', async (t) => {
  const server = await served(t);
  const seen = await page(t, server);
  const other = await page(t, server);
  await opened(seen);
  await other.kernel.deleteRepo({ repoName: 'demo' });
  const lost = seen.next(ofType('sessionLost'));
  seen.cut();
  assert.equal((await lost).failure.code, 'REPO_NOT_FOUND');
  assert.ok(await seen.kernel.getRepos());
});

test('when codekernel is stopped, pages say so and ask no more', async (t) => {
  const server = await served(t);
  const { kernel, next } = await page(t, server);
  await kernel.getRepos();
  const stopped = next(becomes('stopped'));
  const [code] = await server.stop();
  assert.equal(code, 0);
  assert.equal((await stopped).failure.code, 'KERNEL_STOPPED');
  await assert.rejects(kernel.getRepos(), { name: 'KernelError', code: 'KERNEL_STOPPED' });
});

test('when codekernel is killed, pages try again, give up and can be asked to look', async (t) => {
  const server = await served(t);
  const seen = await page(t, server);
  await opened(seen);
  const { kernel, next } = seen;
  const failed = next(becomes('failed'));
  const lost = next(ofType('sessionLost'));
  await server.kill();
  const waiting = kernel.getRepos();
  await assert.rejects(waiting, { name: 'KernelError' });
  assert.equal((await failed).failure.code, 'KERNEL_UNREACHABLE');
  assert.equal((await lost).failure.code, 'KERNEL_UNREACHABLE');
  await assert.rejects(kernel.host('restartKernel'), { code: 'KERNEL_UNREACHABLE' });
});

test('where there is a kernel already, nothing is done', async () => {
  const mine = {};
  globalThis.window = { kernel: mine };
  await import(new URL('web_kernel.js', PAGES));
  assert.equal(globalThis.window.kernel, mine);
});
