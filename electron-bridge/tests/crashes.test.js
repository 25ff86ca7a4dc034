import assert from 'node:assert/strict';
import test from 'node:test';

import { FAST_RESTART, fakeBridge, next, readLog, waitForState } from './support/fixtures.js';

test('a crash rejects what was under way, and the next request gets a new kernel', async (t) => {
  const bridge = await fakeBridge(t);
  const silent = bridge.request('getRepos', { fault: 'silent' });
  const crash = bridge.request('getRepos', { fault: 'crash' });
  await assert.rejects(silent, {
    code: 'KERNEL_CRASHED',
    message: 'The kernel ended with code 3.',
  });
  await assert.rejects(crash, { code: 'KERNEL_CRASHED' });
  assert.equal((await bridge.request('getRepos')).starts, 2);
});

test('the last words of a kernel are the reason', async (t) => {
  const bridge = await fakeBridge(t);
  const announced = next(bridge, 'kernelServerCrashed');
  const crash = bridge.request('getRepos', { fault: 'crashLoudly' });
  await assert.rejects(crash, { message: 'The kernel ended with code 1: no memory left.' });
  assert.equal((await announced)[0].error, 'no memory left');
});

test('half a line is no answer, and is in the log', async (t) => {
  const bridge = await fakeBridge(t);
  const crash = bridge.request('getRepos', { fault: 'crashMidLine' });
  await assert.rejects(crash, { code: 'KERNEL_CRASHED' });
  assert.match(await readLog(bridge), /cut off: \{"sessionId":-1/);
});

test('three crashes in a row are survived, the fourth is the end', async (t) => {
  const bridge = await fakeBridge(t);
  for (let times = 1; times <= 3; times += 1) {
    await assert.rejects(bridge.request('getRepos', { fault: 'crash' }), {
      code: 'KERNEL_CRASHED',
    });
    assert.equal((await bridge.request('getRepos')).starts, times + 1);
  }
  await assert.rejects(bridge.request('getRepos', { fault: 'crash' }), { code: 'KERNEL_CRASHED' });
  await waitForState(bridge, 'failed');
  await assert.rejects(bridge.request('getRepos'), { code: 'KERNEL_GAVE_UP' });
  await bridge.start();
  assert.equal((await bridge.request('getRepos')).starts, 5);
});

test('crashes with calm between them are not in a row', async (t) => {
  const bridge = await fakeBridge(t, { restarts: { delaysMs: [1], stableAfterMs: 0 } });
  for (let times = 1; times <= 5; times += 1) {
    await assert.rejects(bridge.request('getRepos', { fault: 'crash' }), {
      code: 'KERNEL_CRASHED',
    });
    assert.equal((await bridge.request('getRepos')).starts, times + 1);
  }
});

test('a kernel that crashes at its start is tried again', async (t) => {
  const bridge = await fakeBridge(t, { mode: 'crash-twice-at-start' });
  assert.equal((await bridge.request('getRepos')).starts, 3);
});

test('a kernel that always crashes at its start is given up', async (t) => {
  const bridge = await fakeBridge(t, { mode: 'crash-at-start', start: false });
  await assert.rejects(bridge.start(), {
    code: 'KERNEL_GAVE_UP',
    message: 'The kernel crashed 4 times in a row. The kernel ended with code 1.',
  });
  assert.equal(bridge.state, 'failed');
});

test('a kernel that is never ready is ended, and counts as crashed', async (t) => {
  const restarts = { ...FAST_RESTART, maxRestarts: 0 };
  const bridge = await fakeBridge(t, {
    mode: 'never-ready',
    start: false,
    readyTimeoutMs: 1,
    restarts,
  });
  await assert.rejects(bridge.start(), {
    code: 'KERNEL_GAVE_UP',
    message: /SIGKILL: it was not ready within 1 ms/,
  });
});

test('no kernel is no crash: it is said at once', async (t) => {
  const bridge = await fakeBridge(t, { command: ['/nonexistent/codekernel'], start: false });
  await assert.rejects(bridge.start(), { code: 'KERNEL_NOT_FOUND', message: /cannot be started/ });
  assert.equal(bridge.state, 'failed');
});

test('stop asks, and the kernel ends in order', async (t) => {
  const bridge = await fakeBridge(t);
  assert.deepEqual(await bridge.stop(), { code: 0, killed: false });
  assert.equal(bridge.state, 'stopped');
  await assert.rejects(bridge.request('getRepos'), { code: 'KERNEL_STOPPED' });
});

test('what is under way at the stop is rejected when the kernel has gone', async (t) => {
  const bridge = await fakeBridge(t);
  const silent = bridge.request('getRepos', { fault: 'silent' });
  const rejected = assert.rejects(silent, { code: 'KERNEL_STOPPED' });
  await bridge.stop();
  await rejected;
});

test('a kernel that is deaf is killed', async (t) => {
  const bridge = await fakeBridge(t, { mode: 'deaf', stopTimeoutMs: 1 });
  assert.deepEqual(await bridge.stop(), { code: null, killed: true });
  assert.equal(bridge.state, 'stopped');
});

test('a stop between two starts is the end of it', async (t) => {
  const bridge = await fakeBridge(t, { restarts: { delaysMs: [3_600_000] } });
  await assert.rejects(bridge.request('getRepos', { fault: 'crash' }), { code: 'KERNEL_CRASHED' });
  const waiting = bridge.request('getRepos');
  const rejected = assert.rejects(waiting, { code: 'KERNEL_STOPPED' });
  assert.equal(bridge.state, 'restarting');
  await bridge.stop();
  await rejected;
  assert.equal(bridge.state, 'stopped');
});

test('a kernel that was stopped can be started again', async (t) => {
  const bridge = await fakeBridge(t);
  await bridge.stop();
  await bridge.start();
  assert.equal((await bridge.request('getRepos')).starts, 2);
});

test('a stop during the start is no crash', async (t) => {
  const bridge = await fakeBridge(t, { start: false });
  const rejected = assert.rejects(bridge.start(), { code: 'KERNEL_STOPPED' });
  const { killed } = await bridge.stop();
  await rejected;
  assert.equal(killed, false);
  assert.equal(bridge.state, 'stopped');
});

test('what the kernel could not read before the stop is rejected as stopped', async (t) => {
  const bridge = await fakeBridge(t, { stopTimeoutMs: 500 });
  await bridge.request('getRepos', { fault: 'stopReading' });
  const filler = 'x'.repeat(4 * 1024 * 1024);
  const sent = [1, 2, 3].map(() => bridge.request('getRepos', { filler }));
  const ends = Promise.allSettled(sent);
  await bridge.stop();
  for (const { reason } of await ends) assert.equal(reason.code, 'KERNEL_STOPPED');
});

test('keys are not in the log, whatever is cut off', async (t) => {
  const bridge = await fakeBridge(t);
  const crash = bridge.request('getApiKey', { name: 'deepseek', fault: 'crashMidKey' });
  await assert.rejects(crash, { code: 'KERNEL_CRASHED' });
  const log = await readLog(bridge);
  assert.match(log, /cut off/);
  assert.doesNotMatch(log, /sk-invented/);
});
