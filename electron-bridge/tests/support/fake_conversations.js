/** Conversations of the fake kernel: the sequence of the protocol, and ways to leave it. */

const stopped = new Set();
const RESULT = {
  content: 'def close(self): ...',
  metadata: ' <FilePath> session.py\n',
  beginLine: 3,
  endLine: 6,
  filePath: 'session.py',
  score: 0.9,
  chunkId: 4,
};
const NETWORK_ERROR = { code: 'NETWORK_ERROR', message: 'the endpoint said 500' };

const done = (outcome) => ({ type: 'done', content: '', outcome, citations: [], masked: 0 });
const answer = (content) => ({ type: 'answer', content });

const scripts = {
  async hello(say) {
    await say({ type: 'annotation', content: 'Retrieving information: 1' });
    await say({ type: 'search', content: 'close' });
    await say({ type: 'result', content: RESULT });
    await say({ type: 'doneRetrieval', content: '' });
    for (const delta of ['It ', 'is ', 'closed. ', '会话']) await say(answer(delta));
    await say(done('done'));
  },
  async task(say, id, { type }) {
    const content = { role: 'assistant', content: [{ type: 'text', text: type }] };
    if (type === 'beginAgentTurn') await say({ type: 'message', content });
    await say(done('done'));
  },
  async fails(say) {
    await say(answer('It '));
    await say(undefined, NETWORK_ERROR);
    await say(done('failed'));
  },
  async endless(say, id) {
    while (!stopped.has(id)) {
      await say(answer('on '));
      await new Promise(setImmediate);
    }
    await say(done('stopped'));
  },
  async followed(say, id) {
    await say({ type: 'task', content: stopped.has(id) ? 'stopped' : 'at work' });
    await say(done('done'));
  },
  async deafToStop(say) {
    await say(answer('never '));
  },
  async crash(say) {
    await say(answer('last words'));
    process.exit(3);
  },
  async flood(say) {
    for (let number = 0; number < 20_000; number += 1) say(answer(`${number} `));
    await say(done('done'));
  },
};

export async function conversation(request, reply) {
  const { type, conversationId } = request.message;
  const query = type === 'followConversation' ? 'followed' : request.message.query;
  if (query === 'refused') {
    await reply(request, undefined, NETWORK_ERROR);
    return;
  }
  conversation.running += 1;
  await reply(request);
  const say = (data, status) => {
    if (data?.type === 'done') conversation.running -= 1;
    return reply(request, data, status);
  };
  await scripts[query](say, conversationId, request.message);
}

conversation.running = 0;

conversation.stop = (id) => stopped.add(id);
