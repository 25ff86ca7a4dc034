// A client on the TypeScript SDK: node client.mjs '{"command": [...], "cwd": "...", "steps": [...]}'
// Prints a line of JSON for each answer, update and permission. A step is a method with its
// parameters, in which $SESSION is the session; "answer" names the option by its kind.
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';

const task = JSON.parse(process.argv[2]);
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const [program, ...words] = task.command;
const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
let sessionId = '';
let cancel = () => {};

function answer({ params, signal }) {
  print({ permission: params });
  const option = params.options.find(({ kind }) => kind === task.answer);
  if (option) return { outcome: { outcome: 'selected', optionId: option.optionId } };
  if (task.answer === 'cancel') cancel();
  return new Promise((resolve) => {
    const leave = () => {
      print({ takenBack: params.toolCall.toolCallId });
      resolve({ outcome: { outcome: 'cancelled' } });
    };
    signal.addEventListener('abort', leave);
    if (task.answer === 'cancel') leave();
  });
}

const app = client()
  .onNotification(methods.client.session.update, ({ params }) => print({ update: params.update }))
  .onRequest(methods.client.session.requestPermission, answer);

await app.connectWith(
  ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)),
  async (agent) => {
    cancel = () => agent.notify(methods.agent.session.cancel, { sessionId });
    for (const [method, params] of task.steps) {
      const text = JSON.stringify(params).replaceAll('$SESSION', sessionId);
      try {
        const result = await agent.request(method, JSON.parse(text));
        sessionId = result?.sessionId ?? sessionId;
        print({ method, result });
      } catch (error) {
        print({ method, error: { code: error.code, message: error.message } });
      }
    }
  },
);
child.stdin.end();
child.on('exit', (code) => print({ exit: code }));
