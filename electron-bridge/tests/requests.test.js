import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { KernelError } from '../src/index.js';
import { fakeBridge, readLog, waitForState } from './support/fixtures.js';

/** Resolves when a file was said to be done. */
function statusDone(bridge) {
  return new Promise((resolve) => {
    bridge.on('embeddingStatus', (_session, { status }) => status === 'done' && resolve());
  });
}

test('a request resolves with the data of its reply', async (t) => {
  const bridge = await fakeBridge(t);
  assert.deepEqual((await bridge.request('getRepos')).repoList, []);
});

test('a refusal is a KernelError with the code and the sentence of the kernel', async (t) => {
  const bridge = await fakeBridge(t);
  await assert.rejects(bridge.openRepo('nowhere'), (error) => {
    assert.ok(error instanceof KernelError);
    assert.equal(error.code, 'REPO_NOT_FOUND');
    assert.equal(error.message, 'No such repository.');
    return true;
  });
  assert.deepEqual(bridge.sessions, []);
});

test('requests of the kernel are answered as the protocol wants it', async (t) => {
  const bridge = await fakeBridge(t);
  const indexed = statusDone(bridge);
  await bridge.openRepo('demo');
  await indexed;
  await bridge.request('getRepos', { fault: 'unknownRequest' });
  const { heard } = await bridge.request('getRepos');
  const answered = heard.map(([type, , code]) => `${type} ${code}`);
  assert.deepEqual(answered.slice(0, 2), ['ready SUCCESS', 'sessionPrepared SUCCESS']);
  assert.deepEqual(answered.slice(-2), ['sing INVALID_TYPE', 'embeddingStatus SESSION_NOT_FOUND']);
  assert.ok(heard.every(([, callbackId]) => callbackId === 77));
});

test('characters that the pipe cuts in the middle arrive whole', async (t) => {
  const bridge = await fakeBridge(t);
  const text = 'Schlüssel 会话 🙂';
  assert.deepEqual(await bridge.request('getRepos', { fault: 'drip', text }), { text });
});

test('lines that are no messages are logged and nothing else', async (t) => {
  const bridge = await fakeBridge(t);
  assert.deepEqual(await bridge.request('getRepos', { fault: 'garbage' }), { repoList: [] });
  assert.match(await readLog(bridge), /not a message: Traceback/);
});

test('what the kernel says on stderr is in the log', async (t) => {
  const bridge = await fakeBridge(t);
  await bridge.request('getRepos', { fault: 'complain' });
  await bridge.stop();
  assert.match(await readLog(bridge), /WARNING disk is slow: Schlüssel/);
});

test('an answer that is too large rejects its request, and the next one is answered', async (t) => {
  const bridge = await fakeBridge(t, { maxLineBytes: 10_000 });
  const huge = bridge.request('getRepos', { fault: 'huge', size: 20_000 });
  await assert.rejects(huge, { code: 'TOO_LARGE' });
  assert.deepEqual((await bridge.request('getRepos')).repoList, []);
});

test('a request that nobody answers ends with its time', async (t) => {
  const bridge = await fakeBridge(t);
  const silent = bridge.request('getRepos', { fault: 'silent' }, { timeoutMs: 1 });
  await assert.rejects(silent, { code: 'TIMEOUT' });
});

test('a request ends with its AbortSignal', async (t) => {
  const bridge = await fakeBridge(t);
  const controller = new AbortController();
  const { signal } = controller;
  const silent = bridge.request('getRepos', { fault: 'silent' }, { signal });
  controller.abort();
  await assert.rejects(silent, { code: 'ABORTED' });
  await assert.rejects(bridge.request('getRepos', {}, { signal }), { code: 'ABORTED' });
});

test('what cannot be sent is refused at once', async (t) => {
  const bridge = await fakeBridge(t);
  await assert.rejects(bridge.request('getRepos', { n: 1n }), { code: 'WRONG_PARAM' });
  const query = 'x'.repeat(17 * 1024 * 1024);
  await assert.rejects(bridge.request('getRepos', { query }), { code: 'TOO_LARGE' });
  await assert.rejects(bridge.request('stopAll'), { code: 'FORBIDDEN' });
});

test('a kernel that does not read fills the queue, and is heard again when it reads', async (t) => {
  const bridge = await fakeBridge(t, { queue: { lines: 2 } });
  await bridge.request('getRepos', { fault: 'stopReading' });
  const filler = 'x'.repeat(4 * 1024 * 1024);
  const sent = Array.from({ length: 5 }, () => bridge.request('getRepos', { filler }));
  const refused = await Promise.race(sent.map((each) => each.catch((error) => error.code)));
  assert.equal(refused, 'QUEUE_FULL');
  await writeFile(path.join(bridge.options.userData, 'read-on'), '');
  const results = await Promise.allSettled(sent);
  const answered = results.filter(({ status }) => status === 'fulfilled');
  assert.equal(answered.length, 3); // one in the pipe, two in the queue
});

test('a request before the start is refused, one during the start waits', async (t) => {
  const bridge = await fakeBridge(t, { start: false });
  await assert.rejects(bridge.request('getRepos'), { code: 'KERNEL_NOT_STARTED' });
  const starting = bridge.start();
  assert.equal(bridge.state, 'starting');
  assert.deepEqual((await bridge.request('getRepos')).repoList, []);
  await starting;
  await waitForState(bridge, 'running');
});
