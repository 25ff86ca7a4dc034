// An agent on the TypeScript SDK: thinks, speaks, plans, edits a file after it was allowed to.
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream } from '@agentclientprotocol/sdk';

const sessionId = 'typescript-1';
const options = [
  { optionId: 'once', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'never', name: 'Reject', kind: 'reject_once' },
];
let cancelled = () => {};

async function prompt({ params, client }) {
  const send = (update) => client.notify(methods.client.session.update, { sessionId, update });
  const say = (sessionUpdate, text) => send({ sessionUpdate, content: { type: 'text', text } });
  if (params.prompt[0].text === 'wait') {
    const stop = new Promise((resolve) => (cancelled = resolve));
    await say('agent_message_chunk', 'waiting');
    await stop;
    return { stopReason: 'cancelled' };
  }
  await say('agent_thought_chunk', 'let me see');
  await say('agent_message_chunk', 'Hello ');
  await say('agent_message_chunk', 'there');
  await send({
    sessionUpdate: 'plan',
    entries: [{ content: 'edit', priority: 'high', status: 'in_progress' }],
  });
  const toolCall = {
    toolCallId: 'call-1',
    title: 'Edit a.txt',
    kind: 'edit',
    status: 'pending',
    rawInput: { path: 'a.txt' },
    content: [{ type: 'diff', path: 'a.txt', oldText: 'one\n', newText: 'two\n' }],
  };
  await send({ sessionUpdate: 'tool_call', ...toolCall });
  const asked = { sessionId, toolCall, options };
  const { outcome } = await client.request(methods.client.session.requestPermission, asked);
  const allowed = outcome.outcome === 'selected' && outcome.optionId === 'once';
  const status = allowed ? 'completed' : 'failed';
  await send({ sessionUpdate: 'tool_call_update', toolCallId: 'call-1', status });
  return { stopReason: 'end_turn' };
}

agent()
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentCapabilities: { loadSession: true },
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId }))
  .onRequest(methods.agent.session.load, () => ({}))
  .onRequest(methods.agent.session.prompt, prompt)
  .onNotification(methods.agent.session.cancel, () => cancelled())
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
