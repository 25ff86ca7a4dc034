import assert from 'node:assert/strict';
import test from 'node:test';

import { Deferred } from '../src/deferred.js';
import { KernelIpc, MAIN_PAGE_CALLS, REPOSITORY_PAGE_CALLS } from '../src/index.js';
import { FakeIpcMain, FakeWindow } from './support/fake_electron.js';
import { fakeBridge, waitForState } from './support/fixtures.js';

const PAGE = 'codekernel://app/repository.html';
const QUESTION = { modelName: 'model', conversationId: 1, query: 'hello' };

async function setUp(
  t,
  { calls = [...MAIN_PAGE_CALLS, ...REPOSITORY_PAGE_CALLS], hostCalls } = {},
) {
  const bridge = await fakeBridge(t);
  const ipcMain = new FakeIpcMain();
  const opened = new KernelIpc({ ipcMain, bridge, hostCalls });
  let lastId = 0;
  const admit = (page = PAGE) => {
    lastId += 1;
    const window = new FakeWindow(ipcMain, lastId, page);
    opened.addWindow(window.contents, { page: PAGE, calls });
    return window;
  };
  return { bridge, ipcMain, admit, window: admit() };
}

const heard = (window, type) => new Promise((resolve) => window.kernel.on(type, resolve));

test('a page asks and is answered', async (t) => {
  const { window } = await setUp(t);
  assert.deepEqual((await window.kernel.getRepos()).repoList, []);
});

test('every window hears that the list of repositories has changed', async (t) => {
  const { bridge, admit, window } = await setUp(t);
  const both = [window, admit()].map((each) => heard(each, 'reposChanged'));
  bridge.emit('reposChanged');
  assert.deepEqual(await Promise.all(both), [{}, {}]);
});

test('a failure reaches the page with its code', async (t) => {
  const { window } = await setUp(t);
  await assert.rejects(window.kernel.openRepo({ repoName: 'nowhere' }), (failure) => {
    assert.deepEqual(failure, {
      name: 'KernelError',
      code: 'REPO_NOT_FOUND',
      message: 'No such repository.',
    });
    return true;
  });
});

test('a window has its own session, which the page never names', async (t) => {
  const { bridge, admit, window } = await setUp(t);
  const other = admit();
  await window.kernel.openRepo({ repoName: 'one' });
  await other.kernel.openRepo({ repoName: 'two' });
  await window.kernel.search({ query: 'x', sessionId: 2 });
  assert.deepEqual(
    bridge.sessions.map(({ repoName }) => repoName),
    ['one', 'two'],
  );
  await window.kernel.closeRepo();
  await assert.rejects(window.kernel.search({ query: 'x' }), { code: 'SESSION_NOT_FOUND' });
  await other.kernel.search({ query: 'x' });
});

test('what a page asks its session while it opens a repository waits for it', async (t) => {
  const { window } = await setUp(t);
  const opening = window.kernel.openRepo({ repoName: 'one' });
  const parts = [];
  await Promise.all([
    window.kernel.search({ query: 'x' }),
    window.kernel.converse(QUESTION, (part) => parts.push(part)).finished,
    opening,
  ]);
  assert.ok(parts.length > 0);
  const refused = window.kernel.openRepo({ repoName: 'nowhere' });
  await assert.rejects(window.kernel.search({ query: 'x' }), { code: 'SESSION_NOT_FOUND' });
  await assert.rejects(refused, { code: 'REPO_NOT_FOUND' });
});

test('events go to the window they are for, many about one file as one', async (t) => {
  const { admit, window } = await setUp(t);
  const other = admit();
  other.kernel.on('embeddingStatus', () => assert.fail('told to the wrong window'));
  const prepared = heard(window, 'sessionPrepared');
  const statuses = heard(window, 'embeddingStatus');
  await window.kernel.openRepo({ repoName: 'demo' });
  await prepared;
  const [latest] = (await statuses).slice(-1);
  assert.equal(latest.filePath, 'a.py');
});

test('every window is told of the state of the kernel', async (t) => {
  const { bridge, window } = await setUp(t);
  const told = heard(window, 'kernelState');
  await assert.rejects(bridge.request('getRepos', { fault: 'crash' }));
  assert.equal((await told).state, 'restarting');
  assert.equal((await told).failure.code, 'KERNEL_CRASHED');
  await waitForState(bridge, 'running');
});

test('a page that was loaded again gets the session it had', async (t) => {
  const { bridge, window } = await setUp(t);
  await window.kernel.openRepo({ repoName: 'demo' });
  await window.kernel.openRepo({ repoName: 'demo' });
  assert.equal(bridge.sessions.length, 1);
});

test('a window comes back to what it showed; the oldest is closed, but for one that answers', async (t) => {
  const { bridge, window } = await setUp(t);
  const open = (repoName) => window.kernel.openRepo({ repoName });
  const names = () => bridge.sessions.map(({ repoName }) => repoName).sort();
  await open('demo');
  const begun = new Deferred();
  const talk = window.kernel.converse({ ...QUESTION, query: 'endless' }, begun.resolve);
  await begun.promise;
  for (const name of ['one', 'two', 'demo', 'three', 'four']) await open(name);
  assert.deepEqual(names(), ['demo', 'four', 'three']);
  talk.stop();
  await talk.finished.catch(() => {});
  await open('five');
  assert.deepEqual(names(), ['five', 'four', 'three']);
});

test('events are told with the repository they are about', async (t) => {
  const { window } = await setUp(t);
  const prepared = heard(window, 'sessionPrepared');
  await window.kernel.openRepo({ repoName: 'demo' });
  assert.equal((await prepared).repoName, 'demo');
});

test('the session of a closed window is closed, even one that was being opened', async (t) => {
  const { bridge, window, admit } = await setUp(t);
  const other = admit();
  await window.kernel.openRepo({ repoName: 'demo' });
  const opening = other.kernel.openRepo({ repoName: 'late' });
  window.close();
  other.close();
  await assert.rejects(opening, { code: 'SESSION_CLOSED' });
  assert.deepEqual(bridge.sessions, []);
});

test('a conversation arrives part by part, then it is finished', async (t) => {
  const { window } = await setUp(t);
  await window.kernel.openRepo({ repoName: 'demo' });
  const types = [];
  await window.kernel.converse(QUESTION, ({ type }) => types.push(type)).finished;
  assert.equal(types[0], 'annotation');
  assert.equal(types.at(-1), 'done');
});

test('a page stops a conversation', async (t) => {
  const { window } = await setUp(t);
  await window.kernel.openRepo({ repoName: 'demo' });
  const parts = [];
  const talk = window.kernel.converse({ ...QUESTION, query: 'endless' }, (part) => {
    parts.push(part);
    talk.stop();
  });
  await talk.finished;
  assert.equal(parts.at(-1).outcome, 'stopped');
});

test('a failed conversation tells the page how it ended', async (t) => {
  const { window } = await setUp(t);
  await window.kernel.openRepo({ repoName: 'demo' });
  const { finished } = window.kernel.converse({ ...QUESTION, query: 'fails' }, () => {});
  await assert.rejects(
    finished,
    ({ code, done }) => code === 'NETWORK_ERROR' && done.type === 'done',
  );
});

test('what a window may not ask is refused', async (t) => {
  const { window } = await setUp(t, { calls: REPOSITORY_PAGE_CALLS });
  await assert.rejects(window.kernel.setApiKey({ name: 'a', apiKey: 'b' }), { code: 'FORBIDDEN' });
  await assert.rejects(window.kernel.host('getApiKey', { name: 'a' }), { code: 'FORBIDDEN' });
  await assert.rejects(window.kernel.host('stopAll'), { code: 'FORBIDDEN' });
  await assert.rejects(window.kernel.host('__proto__'), { code: 'FORBIDDEN' });
});

test('no kind of window gets keys back or stops the kernel', () => {
  for (const call of ['getApiKey', 'stopAll', 'beginConversation', 'stopConversation']) {
    assert.ok(!MAIN_PAGE_CALLS.includes(call) && !REPOSITORY_PAGE_CALLS.includes(call));
  }
});

test('what a window may ask is on window.kernel, and nothing else of the kernel is', async (t) => {
  const { window } = await setUp(t);
  const offered = Object.keys(window.kernel).filter(
    (name) => !['host', 'on', 'pathOfFile'].includes(name),
  );
  assert.deepEqual(
    offered.sort(),
    [...new Set([...MAIN_PAGE_CALLS, ...REPOSITORY_PAGE_CALLS])].sort(),
  );
});

test('strangers, frames inside a page, and other pages are refused', async (t) => {
  const { ipcMain, window, admit } = await setUp(t);
  const stranger = new FakeWindow(ipcMain, 99, PAGE);
  await assert.rejects(stranger.kernel.getRepos(), { code: 'FORBIDDEN' });
  const impostor = new FakeWindow(ipcMain, window.contents.id, PAGE);
  await assert.rejects(impostor.kernel.getRepos(), { code: 'FORBIDDEN' });
  const elsewhere = admit('https://example.com/repository.html');
  await assert.rejects(elsewhere.kernel.getRepos(), { code: 'FORBIDDEN' });
  window.frame = { url: `${PAGE}?repo=demo#top`, parent: null };
  await window.kernel.getRepos();
  window.frame = { url: PAGE, parent: { url: PAGE } };
  await assert.rejects(window.kernel.getRepos(), { code: 'FORBIDDEN' });
  window.frame = null;
  await assert.rejects(window.kernel.getRepos(), { code: 'FORBIDDEN' });
});

test('fields that are no object are refused', async (t) => {
  const { window } = await setUp(t);
  for (const fields of [[], 'x', null, 5]) {
    await assert.rejects(window.kernel.getRepos(fields), { code: 'WRONG_PARAM' });
  }
});

test('the app offers calls of its own, and its failures tell the page nothing', async (t) => {
  const hostCalls = {
    openInEditor: async ({ filePath }) => `opened ${filePath}`,
    broken: () => {
      throw new Error('secret path');
    },
  };
  const { window } = await setUp(t, { calls: ['openInEditor', 'broken'], hostCalls });
  assert.equal(await window.kernel.host('openInEditor', { filePath: 'a.py' }), 'opened a.py');
  await assert.rejects(window.kernel.host('broken'), {
    code: 'UNKNOW_ERROR',
    message: 'The app failed; its log says why.',
  });
});
