/** Sessions as the agents' page keeps them: states, messages, what waits to be sent, turns. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parsePlace, sessionAddress } from '../pages/agents/address.js';
import { HubFailure, UNREACHABLE } from '../pages/agents/hub/hub_failure.js';
import {
  collectEdits,
  diffOfNewFile,
  hunksOf,
  readGitStatus,
} from '../pages/agents/sessions/changes.js';
import { MessageLog } from '../pages/agents/sessions/message_log.js';
import { findNotice } from '../pages/agents/sessions/notices.js';
import { Outbox } from '../pages/agents/sessions/outbox.js';
import {
  applyPatch,
  mergeSession,
  orderSessions,
  readSession,
  readSummary,
  statusOf,
} from '../pages/agents/sessions/session_record.js';
import { SessionStore } from '../pages/agents/sessions/session_store.js';
import { Transcript } from '../pages/agents/sessions/transcript.js';

const METADATA = { path: '/code/demo', host: 'desk', name: 'Demo', machineId: 'm', flavor: 'own' };
const REQUEST = {
  tool: 'run_command',
  arguments: { command: 'ls' },
  createdAt: 1,
  toolUseId: 'c1',
};

/** @param {any} [more] */
function session(more = {}) {
  return readSession({
    id: 's1',
    active: true,
    thinking: false,
    updatedAt: 1,
    metadata: METADATA,
    agentState: { requests: {}, completedRequests: {} },
    agentStateVersion: 1,
    todos: [],
    permissionMode: 'default',
    ...more,
  });
}

/** @param {any} [requests] @param {any} [completedRequests] */
const state = (requests = {}, completedRequests = {}) => ({ requests, completedRequests });

/** @param {number} version @param {any} value @param {any} [more] */
function patch(version, value, more = {}) {
  const metadata = { version, value: METADATA };
  const agentState = { version, value };
  const todos = { version, value: [] };
  return { active: true, thinking: true, updatedAt: 2, metadata, agentState, todos, ...more };
}

test('an answered permission does not come back with an older state', () => {
  const asking = applyPatch(session(), patch(3, state({ r1: REQUEST })));
  assert.equal(statusOf(asking), 'waiting');
  assert.equal(asking.requests?.[0].toolUseId, 'c1');
  const answeredBy = { device: 'webapp', name: 'iPhone' };
  const done = { ...REQUEST, status: 'approved', answeredBy };
  const answered = applyPatch(asking, patch(4, state({}, { r1: done })));
  assert.equal(statusOf(answered), 'running');
  assert.equal(answered.answered[0].answeredBy, 'iPhone');
  assert.equal(applyPatch(answered, patch(3, state({ r1: REQUEST }))), answered);
});

test('a summary replaces a whole record only if it is newer', () => {
  const whole = session({ agentState: state({ r1: REQUEST }), agentStateVersion: 5 });
  const summary = (/** @type {number} */ agentStateVersion, active = true) =>
    readSummary({ id: 's1', active, agentStateVersion, metadata: METADATA });
  assert.equal(mergeSession(whole, summary(4)), whole);
  const away = mergeSession(whole, summary(5, false));
  assert.equal(statusOf(away), 'away');
  assert.equal(away.requests?.length, 1);
  assert.equal(mergeSession(whole, summary(6)).requests, null);
});

/** A hub that has read its answers and gives each when told to. */
class SlowHub {
  version = 1;
  /** @type {Map<string, (() => void)[]>} */
  #answers = new Map();

  /** @param {string} path */
  get(path) {
    const answer = this.#read(path);
    return new Promise((resolve) => {
      this.#answers.set(path, [...(this.#answers.get(path) ?? []), () => resolve(answer)]);
    });
  }

  /** @param {string} path whose answer is given, if it was asked for */
  async give(path) {
    this.#answers.get(path)?.shift()?.();
    await new Promise(setImmediate); // what follows from it is done
  }

  /** @param {string} path */
  #read(path) {
    if (path === MACHINES) return { machines: [] };
    const common = { id: 's1', active: true, thinking: true, agentStateVersion: this.version };
    const whole = { ...common, metadata: METADATA, agentState: state({ r1: REQUEST }) };
    const summary = { ...common, metadata: METADATA, pendingRequestsCount: 1 };
    return path === LIST ? { sessions: [summary] } : { session: whole };
  }
}
const [LIST, MACHINES, ONE] = ['/api/sessions', '/api/machines', '/api/sessions/s1'];

test('a list that is newer than the session does not hide what its permission is for', async () => {
  for (const first of [ONE, LIST]) {
    const hub = new SlowHub();
    const store = new SessionStore(/** @type {any} */ (hub), () => {});
    const reading = [store.loadSession('s1')];
    hub.version += 1; // by a message, of which no state is told
    reading.push(store.load());
    await hub.give(MACHINES);
    await hub.give(first);
    await hub.give(first === ONE ? LIST : ONE);
    await hub.give(ONE); // which is asked for again
    await Promise.all(reading);
    const found = store.sessions.get('s1');
    assert.deepEqual([found?.version, found?.requests?.[0]?.tool], [2, 'run_command'], first);
  }
});

test('those that wait come first, then those that run', () => {
  const archived = { ...METADATA, lifecycleState: 'archived' };
  const all = [
    session({ id: 'archived', metadata: archived, updatedAt: 9 }),
    session({ id: 'old', updatedAt: 1 }),
    session({ id: 'new', updatedAt: 5 }),
    session({ id: 'running', thinking: true }),
    session({ id: 'waiting', thinking: true, agentState: state({ r1: REQUEST }) }),
  ];
  const ids = orderSessions(all).map(({ id }) => id);
  assert.deepEqual(ids, ['waiting', 'running', 'new', 'old', 'archived']);
});

test('a notice is due when an agent begins to wait, asks again, or is done', () => {
  const running = session({ thinking: true });
  const first = session({ thinking: true, agentState: state({ r1: REQUEST }) });
  const second = session({ thinking: true, agentState: state({ r2: REQUEST }) });
  assert.equal(findNotice(running, first, true)?.kind, 'waits');
  assert.equal(findNotice(first, second, true)?.kind, 'waits');
  assert.equal(findNotice(first, first, true), null);
  assert.equal(findNotice(first, session(), true)?.kind, 'done');
  assert.equal(findNotice(undefined, first, false), null, 'what was so before is no news');
  assert.equal(findNotice(undefined, first, true)?.kind, 'waits', 'begun, and waits already');
  assert.equal(findNotice(undefined, running, true), null);
  assert.equal(findNotice(session(), session({ updatedAt: 3 }), true), null);
});

/** @param {number} seq @param {any} content @param {any} [more] */
function message(seq, content, more = {}) {
  const at = 1000 + seq;
  return { id: `m${seq}`, seq, localId: null, content, createdAt: at, invokedAt: at, ...more };
}
const said = (/** @type {string} */ text) => ({ role: 'user', content: { type: 'text', text } });
const output = (/** @type {string} */ role, /** @type {object[]} */ ...content) => ({
  role: 'agent',
  content: { type: 'output', data: { type: role, message: { role, content } } },
});
const page = (/** @type {any[]} */ messages, more = {}) => ({
  messages,
  page: {
    epoch: 1,
    hasMore: false,
    nextBeforeSeq: messages[0]?.seq ?? null,
    snapshotHeadSeq: messages.at(-1)?.seq ?? null,
    ...more,
  },
});
const ids = (/** @type {readonly { id: string }[]} */ messages) => messages.map(({ id }) => id);

test('a message that comes by event and by page is there once', () => {
  const log = new MessageLog();
  log.receive(message(2, said('b')));
  log.addLatest(page([message(1, said('a')), message(2, said('b'))]));
  log.receive(message(2, said('b')));
  assert.deepEqual(ids(log.shown), ['m1', 'm2']);
});

test('a message that was taken waits no more, whatever is read later, and stands where it was taken', () => {
  const waiting = message(1, said('next'), { localId: 'l1', invokedAt: null });
  const log = new MessageLog();
  log.consume(['l1'], 2000); // before the page that has it as waiting
  log.addLatest(page([waiting, message(2, output('assistant'))]));
  assert.deepEqual(ids(log.queued), []);
  assert.deepEqual(ids(log.shown), ['m2', 'm1']);
  log.addLatest(page([waiting, message(2, output('assistant'))]));
  assert.deepEqual(ids(log.shown), ['m2', 'm1']);
});

test('a message that was taken back elsewhere is gone, one that came meanwhile is not', () => {
  const log = new MessageLog();
  log.addLatest(
    page([message(1, said('a')), message(2, said('b'), { localId: 'x', invokedAt: null })]),
  );
  log.receive(message(4, said('c'), { localId: 'y', invokedAt: null }));
  log.addLatest(page([message(1, said('a')), message(3, output('assistant'))]));
  assert.deepEqual(ids(log.queued), ['m4']);
  log.remove('y');
  assert.deepEqual(ids(log.queued), []);
});

test('a page that does not join what is known, or is of another epoch, replaces it', () => {
  const log = new MessageLog();
  log.addLatest(page([message(1, said('a'))]));
  log.addLatest(page([message(8, said('b')), message(9, said('c'))], { hasMore: true }));
  assert.deepEqual(ids(log.shown), ['m8', 'm9']);
  assert.ok(log.hasEarlier);
  log.addEarlier(page([message(7, said('z'))], { hasMore: false }));
  assert.deepEqual(ids(log.shown), ['m7', 'm8', 'm9']);
  log.addLatest(page([message(9, said('other'))], { epoch: 2 }));
  assert.deepEqual(ids(log.shown), ['m9']);
});

test('a message that grows gives way to the complete one', () => {
  const log = new MessageLog();
  log.grow(message(1, output('assistant')));
  assert.equal(log.growing.length, 1);
  log.receive(message(1, output('assistant')));
  log.grow(message(1, output('assistant'))); // late
  assert.deepEqual([log.growing.length, log.shown.length], [0, 1]);
});

/** A storage as browsers have it. */
class MemoryStorage {
  /** @type {Map<string, string>} */
  items = new Map();
  get length() {
    return this.items.size;
  }
  key(/** @type {number} */ index) {
    return [...this.items.keys()][index] ?? null;
  }
  getItem(/** @type {string} */ name) {
    return this.items.get(name) ?? null;
  }
  setItem(/** @type {string} */ name, /** @type {string} */ value) {
    this.items.set(name, value);
  }
  removeItem(/** @type {string} */ name) {
    this.items.delete(name);
  }
}

test('what is written without a connection is sent once, in order, after a reload too', async () => {
  const storage = /** @type {any} */ (new MemoryStorage());
  /** @type {any[]} */
  const posted = [];
  let isOffline = true;
  const client = {
    post: async (/** @type {string} */ path, /** @type {object} */ body) => {
      if (isOffline) throw new HubFailure(UNREACHABLE, '');
      posted.push({ path, ...body });
    },
  };
  const before = new Outbox(client, () => {}, storage);
  await before.add('s1', 'first');
  await new Promise((resolve) => setTimeout(resolve, 2)); // another millisecond
  await before.add('s1', 'second');
  assert.deepEqual(
    before.list('s1').map(({ state: each }) => each),
    ['waiting', 'waiting'],
  );
  const after = new Outbox(client, () => {}, storage);
  isOffline = false;
  await Promise.all([after.flush(), after.flush()]);
  assert.deepEqual(
    posted.map(({ text }) => text),
    ['first', 'second'],
  );
  assert.deepEqual(
    posted.map(({ localId }) => localId),
    before.list('s1').map(({ localId }) => localId),
  );
  assert.equal(storage.length, 0);
  assert.equal(after.list('s1')[0].state, 'sent', 'shown until it comes back');
});

test('a message that the hub refuses is kept and can be tried again, and holds up no other', async () => {
  const storage = /** @type {any} */ (new MemoryStorage());
  const refused = new HubFailure('session_inactive', 'no', { status: 409 });
  let isOpen = false;
  const client = {
    post: async (/** @type {string} */ path) => {
      if (!isOpen && path.includes('archived')) throw refused;
    },
  };
  const outbox = new Outbox(client, () => {}, storage);
  await outbox.add('archived', 'one');
  await outbox.add('other', 'two');
  const [kept] = outbox.list('archived');
  assert.deepEqual([kept.state, kept.failure], ['refused', refused]);
  assert.equal(outbox.list('other')[0].state, 'sent');
  isOpen = true;
  await outbox.retryAll('archived');
  assert.equal(outbox.list('archived')[0].state, 'sent');
  outbox.remove(kept.localId);
  assert.deepEqual(outbox.list('archived'), []);
});

const TURN = [
  message(1, said('Do it')),
  message(2, output('assistant', { type: 'tool_use', id: 'c1', name: 'run', input: {} })),
];
const RESULT = message(
  3,
  output('user', {
    type: 'tool_result',
    tool_use_id: 'c1',
    content: [{ type: 'text', text: 'ok' }],
  }),
);

test('messages become turns that go on where they were', () => {
  const transcript = new Transcript();
  transcript.update(TURN, []);
  const [turn] = transcript.turns;
  const { isNew, changed } = transcript.update([...TURN, RESULT], []);
  assert.equal(isNew, false);
  assert.deepEqual([...(changed.get(turn) ?? [])], turn.run.items);
  const [tool] = /** @type {any[]} */ (turn.run.items);
  assert.deepEqual([tool.status, tool.output], ['success', 'ok']);
  const note = {
    role: 'agent',
    content: { type: 'event', data: { type: 'message', message: 'x' } },
  };
  transcript.update([...TURN, RESULT, message(4, note), message(5, said('More'))], []);
  assert.deepEqual(
    transcript.turns.map(({ question }) => question),
    ['Do it', 'More'],
  );
  assert.equal(transcript.update([message(0, said('Before')), ...TURN], []).isNew, true);
});

test('a growing text is one item, before and after it is complete', () => {
  const transcript = new Transcript();
  const text = (/** @type {string} */ words) =>
    message(2, output('assistant', { type: 'text', text: words }));
  transcript.update(TURN.slice(0, 1), [text('Hel')]);
  transcript.update(TURN.slice(0, 1), [text('Hello')]);
  transcript.update([TURN[0], text('Hello!')], []);
  assert.deepEqual(transcript.turns[0].run.items, [{ kind: 'text', text: 'Hello!' }]);
});

test('a tool waits, runs or is denied as the state of the session says', () => {
  const transcript = new Transcript();
  transcript.update(TURN, []);
  const [tool] = /** @type {any[]} */ (transcript.turns[0].run.items);
  const thinking = { thinking: true };
  transcript.applyState(session({ ...thinking, agentState: state({ r1: REQUEST }) }));
  assert.equal(tool.status, 'asking');
  transcript.applyState(
    session({ ...thinking, agentState: state({}, { r1: { ...REQUEST, status: 'approved' } }) }),
  );
  assert.equal(tool.status, 'running');
  transcript.applyState(
    session({ ...thinking, agentState: state({}, { r1: { ...REQUEST, status: 'denied' } }) }),
  );
  assert.equal(tool.status, 'denied');
  const cut = new Transcript();
  cut.update(TURN, []);
  cut.applyState(session());
  assert.equal(/** @type {any} */ (cut.turns[0].run.items[0]).status, 'stopped');
});

test('changed files are read from git, with spaces in their names', () => {
  const status = [
    '# branch.head main',
    '1 .M N... 100644 100644 100644 aaa bbb src/a b.py',
    '1 A. N... 000000 100644 100644 000 bbb new.py',
    '2 R. N... 100644 100644 100644 aaa bbb R100 to.py\tfrom.py',
    '1 .D N... 100644 100644 000000 aaa aaa gone.py',
    '? notes.txt',
    '',
  ].join('\n');
  const files = readGitStatus(status, '2\t1\tsrc/a b.py\n-\t-\tpicture.png\n\n5\t0\tnew.py\n');
  assert.deepEqual(
    files.map(({ path, kind, isStaged, isUntracked, added }) => [
      path,
      kind,
      isStaged,
      isUntracked,
      added,
    ]),
    [
      ['src/a b.py', 'changed', false, false, 2],
      ['new.py', 'created', true, false, 5],
      ['to.py', 'changed', true, false, null],
      ['gone.py', 'deleted', false, false, null],
      ['notes.txt', 'created', false, true, null],
    ],
  );
});

test('without git the edits of the messages are shown', () => {
  const transcript = new Transcript();
  const diff = '--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n';
  const input = { path: 'greet.py' };
  transcript.update(
    [
      message(1, said('x')),
      message(2, output('assistant', { type: 'tool_use', id: 'c', name: 'edit_file', input })),
      message(3, output('user', { type: 'tool_result', tool_use_id: 'c', content: '', diff })),
    ],
    [],
  );
  const [file] = collectEdits(transcript.turns);
  assert.deepEqual([file.path, file.added, file.removed], ['greet.py', 1, 1]);
  assert.equal(file.diff, '@@ -1 +1 @@\n-old\n+new');
  assert.equal(
    hunksOf('diff --git a b\nindex 1\n--- a\n+++ b\n@@ -1 +1 @@\n-a'),
    '@@ -1 +1 @@\n-a',
  );
  assert.equal(diffOfNewFile('a\nb\n'), '@@ -0,0 +1,2 @@\n+a\n+b');
});

test('an address names the session, and any other leads to the list', () => {
  for (const view of /** @type {const} */ (['session', 'changes'])) {
    assert.deepEqual(parsePlace(sessionAddress('a/b ü', view)), { view, sessionId: 'a/b ü' });
  }
  for (const other of ['', '#/', '#/session/', '#/session/%', '#main']) {
    assert.deepEqual(parsePlace(other), { view: 'list', sessionId: '' });
  }
});
