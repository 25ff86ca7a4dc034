import assert from 'node:assert/strict';
import test from 'node:test';

import { fakeBridge, next } from './support/fixtures.js';

test('a session answers, and its events are told with it', async (t) => {
  const bridge = await fakeBridge(t);
  const owner = { window: 5 };
  const told = next(bridge, 'embeddingStatus');
  const session = await bridge.openRepo('demo', { owner });
  await session.prepared();
  assert.equal(session.path, '/repos/demo');
  const [about, message] = await told;
  assert.equal(about, session);
  assert.equal(about.owner, owner);
  assert.equal(message.filePath, 'a.py');
  assert.equal((await session.request('search', { query: 'x' })).type, 'result');
});

test('sessions have ids of their own', async (t) => {
  const bridge = await fakeBridge(t);
  const sessions = [await bridge.openRepo('one'), await bridge.openRepo('two')];
  assert.notEqual(sessions[0].id, sessions[1].id);
  assert.equal(bridge.session(sessions[1].id), sessions[1]);
});

test('after a crash of the kernel sessions are opened again under the same id', async (t) => {
  const bridge = await fakeBridge(t);
  const session = await bridge.openRepo('demo');
  await session.prepared();
  const crashed = next(bridge, 'sessionCrashed');
  const again = next(bridge, 'sessionPrepared');
  await assert.rejects(bridge.request('getRepos', { fault: 'crash' }), { code: 'KERNEL_CRASHED' });
  assert.equal((await crashed)[1].code, 'KERNEL_CRASHED');
  const answer = session.request('search', { query: 'x' }); // waits for the new kernel
  assert.equal((await again)[0], session);
  assert.equal((await answer).starts, 2);
  assert.equal(session.state, 'prepared');
});

test('a session that crashes alone is opened again', async (t) => {
  const bridge = await fakeBridge(t);
  const session = await bridge.openRepo('demo');
  await session.prepared();
  const crashed = next(session, 'crashed');
  const again = next(session, 'prepared');
  await bridge.request('getRepos', { fault: 'crashSession', which: session.id });
  assert.equal((await crashed)[0].message, 'index is broken');
  await again;
  assert.equal((await session.request('search', { query: 'x' })).starts, 1);
});

test('a session that crashes again and again is lost, and nobody waits for it', async (t) => {
  const bridge = await fakeBridge(t);
  const lost = next(bridge, 'sessionLost');
  const session = await bridge.openRepo('cursed');
  const [about, reason] = await lost;
  assert.equal(about, session);
  assert.equal(reason.message, 'it is cursed');
  assert.equal(session.state, 'lost');
  await assert.rejects(session.prepared(), { message: 'it is cursed' });
});

test('when the kernel is given up sessions are lost, and come back with a new start', async (t) => {
  const bridge = await fakeBridge(t, { restarts: { maxRestarts: 0 } });
  const session = await bridge.openRepo('demo');
  await session.prepared();
  const lost = next(session, 'lost');
  await assert.rejects(bridge.request('getRepos', { fault: 'crash' }), { code: 'KERNEL_CRASHED' });
  assert.equal((await lost)[0].code, 'KERNEL_GAVE_UP');
  const again = next(session, 'prepared');
  await bridge.start();
  await again;
});

test('a repository that is opened while the kernel is down is opened once', async (t) => {
  const bridge = await fakeBridge(t);
  await assert.rejects(bridge.request('getRepos', { fault: 'crash' }), { code: 'KERNEL_CRASHED' });
  const session = await bridge.openRepo('demo');
  await session.prepared();
  const { heard } = await bridge.request('getRepos');
  assert.equal(heard.filter(([type]) => type === 'sessionPrepared').length, 1);
});

test('a closed session refuses, and what was under way is rejected', async (t) => {
  const bridge = await fakeBridge(t);
  const session = await bridge.openRepo('demo');
  const silent = session.request('search', { fault: 'silent' });
  const rejected = assert.rejects(silent, { code: 'SESSION_CLOSED' });
  await session.close();
  await rejected;
  await assert.rejects(session.request('search', { query: 'x' }), { code: 'SESSION_CLOSED' });
  await session.close();
  assert.deepEqual(bridge.sessions, []);
});

test('sessions of a deleted repository are closed, and the app is told', async (t) => {
  const bridge = await fakeBridge(t);
  const session = await bridge.openRepo('demo');
  const deleted = next(bridge, 'repoDeleted');
  await bridge.request('deleteRepo', { repoName: 'demo' });
  assert.equal(session.state, 'closed');
  assert.deepEqual(await deleted, ['demo']);
});

test('a stop closes the sessions and calls it no crash', async (t) => {
  const bridge = await fakeBridge(t);
  const session = await bridge.openRepo('demo');
  await session.prepared();
  session.on('crashed', () => assert.fail('called a crash'));
  await bridge.stop();
  assert.equal(session.state, 'closed');
});
