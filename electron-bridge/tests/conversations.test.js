import assert from 'node:assert/strict';
import test from 'node:test';

import { LEFT } from '../src/conversation.js';
import { PartQueue } from '../src/part_queue.js';
import { collect, fakeBridge } from './support/fixtures.js';

async function asking(t, query, options) {
  const bridge = await fakeBridge(t);
  const session = await bridge.openRepo('demo');
  const question = { modelName: 'model', conversationId: 1, query };
  return { bridge, session, parts: session.converse(question, options) };
}

const answerOf = (parts) =>
  parts
    .filter(({ type }) => type === 'answer')
    .map(({ content }) => content)
    .join('');

test('a conversation is its parts in order, done last', async (t) => {
  const { parts } = await asking(t, 'hello');
  const heard = await collect(parts);
  const types = heard.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
  assert.deepEqual(types, ['annotation', 'search', 'result', 'doneRetrieval', 'answer', 'done']);
  assert.equal(heard[2].content.filePath, 'session.py');
  assert.equal(answerOf(heard), 'It is closed. 会话');
  assert.equal(heard.at(-1).outcome, 'done');
});

test('a question that is refused is an error at once', async (t) => {
  const { parts } = await asking(t, 'refused');
  await assert.rejects(collect(parts), { code: 'NETWORK_ERROR', message: 'the endpoint said 500' });
});

test('a model that fails on the way is an error that knows how it ended', async (t) => {
  const { parts } = await asking(t, 'fails');
  const heard = [];
  await assert.rejects(
    async () => {
      for await (const part of parts) heard.push(part);
    },
    (error) => {
      assert.equal(error.code, 'NETWORK_ERROR');
      assert.equal(error.done.outcome, 'failed');
      return true;
    },
  );
  assert.equal(answerOf(heard), 'It ');
});

test('an abort stops the answer politely: what was said stays, done comes', async (t) => {
  const controller = new AbortController();
  const { bridge, parts } = await asking(t, 'endless', { signal: controller.signal });
  const heard = [];
  for await (const part of parts) {
    heard.push(part);
    controller.abort();
  }
  assert.equal(heard.at(-1).outcome, 'stopped');
  assert.match(answerOf(heard), /^(on )+$/);
  assert.deepEqual((await bridge.request('getRepos')).repoList, []);
});

test('a kernel that does not end a stopped answer is not waited for', async (t) => {
  const controller = new AbortController();
  const { parts } = await asking(t, 'deafToStop', { signal: controller.signal, doneTimeoutMs: 1 });
  await assert.rejects(
    async () => {
      for await (const part of parts) {
        assert.equal(part.content, 'never ');
        controller.abort();
      }
    },
    { code: 'ABORTED' },
  );
});

test('a signal that is aborted already asks nothing', async (t) => {
  const { parts } = await asking(t, 'hello', { signal: AbortSignal.abort() });
  await assert.rejects(collect(parts), { code: 'ABORTED' });
});

test('leaving the loop stops the answer and waits until it has', async (t) => {
  const { bridge, session, parts } = await asking(t, 'endless');
  for await (const part of parts) {
    assert.equal(part.type, 'answer');
    break;
  }
  // The fake kernel forgets no stop, so this one ends at once.
  const { conversations } = await bridge.request('getRepos');
  assert.equal(conversations, 0);
  const again = await collect(
    session.converse({ modelName: 'model', conversationId: 1, query: 'endless' }),
  );
  assert.equal(again.at(-1).type, 'done');
  assert.equal(bridge.state, 'running');
});

test('a crash ends the conversation with its reason, after what was said', async (t) => {
  const { parts } = await asking(t, 'crash');
  const heard = [];
  await assert.rejects(
    async () => {
      for await (const part of parts) heard.push(part);
    },
    { code: 'KERNEL_CRASHED' },
  );
  assert.equal(answerOf(heard), 'last words');
});

test('closing the session ends its conversations', async (t) => {
  const { session, parts } = await asking(t, 'deafToStop');
  await assert.rejects(
    async () => {
      for await (const part of parts) {
        assert.ok(part);
        await session.close();
      }
    },
    { code: 'SESSION_CLOSED' },
  );
});

test('a slow reader gets the same text in fewer pieces, and holds nobody up', async (t) => {
  const { bridge, parts } = await asking(t, 'flood');
  const heard = [];
  for await (const part of parts) {
    heard.push(part);
    if (heard.length === 1) await bridge.request('getRepos'); // answered behind the whole flood
  }
  const expected = Array.from({ length: 20_000 }, (_, number) => `${number} `).join('');
  assert.equal(answerOf(heard), expected);
  assert.ok(heard.length < 20, `${heard.length} parts`);
});

test('pieces of the answer that wait are joined, other parts keep their places', async () => {
  const queue = new PartQueue();
  queue.push({ type: 'answer', content: 'a' });
  queue.push({ type: 'answer', content: 'b' });
  queue.push({ type: 'search', content: 'c' });
  queue.push({ type: 'search', content: 'd' });
  queue.push({ type: 'answer', content: 'e' });
  const contents = [];
  while (queue.length > 0) contents.push((await queue.next()).content);
  assert.deepEqual(contents, ['ab', 'c', 'd', 'e']);
});

test('a message of an agent that has grown while it waited takes its own place', async () => {
  const message = (id, text) => ({
    type: 'message',
    content: { role: 'assistant', content: [{ type: 'text', text }], meta: { id } },
  });
  const result = { type: 'message', content: { role: 'user', content: [] } };
  const queue = new PartQueue();
  for (const part of [message('1', 'a'), message('1', 'ab'), message('2', 'c')]) queue.push(part);
  queue.push(result);
  queue.push(result);
  const parts = [];
  while (queue.length > 0) parts.push(await queue.next());
  assert.deepEqual(parts, [message('1', 'ab'), message('2', 'c'), result, result]);
});

test('the task of an agent is a conversation of another kind', async (t) => {
  const bridge = await fakeBridge(t);
  const session = await bridge.openRepo('demo');
  const task = { modelName: 'model', conversationId: 1, query: 'task', isAgent: true };
  const heard = await collect(session.converse(task));
  assert.deepEqual(
    heard.map(({ type }) => type),
    ['message', 'done'],
  );
});

test('an agent goes on when its reader leaves, and can be followed; a question is stopped', async (t) => {
  const bridge = await fakeBridge(t);
  const session = await bridge.openRepo('demo');
  const leave = async (/** @type {any} */ question) => {
    const controller = new AbortController();
    const parts = session.converse(question, { signal: controller.signal });
    await parts.next();
    controller.abort(LEFT);
    await parts.return(undefined);
  };
  const follow = async (/** @type {number} */ conversationId) => {
    const followed = { modelName: '', conversationId, query: '', isFollowed: true };
    return (await collect(session.converse(followed))).map(({ content }) => content);
  };
  await leave({ modelName: 'model', conversationId: 1, query: 'endless', isAgent: true });
  await leave({ modelName: 'model', conversationId: 2, query: 'endless' });
  assert.deepEqual(await follow(1), ['at work', '']);
  assert.deepEqual(await follow(2), ['stopped', '']);
});
