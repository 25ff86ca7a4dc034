/**
 * A language model on loopback that follows a script: the question says which.
 *
 * The first request of a turn is answered with a call of the search tool, so that there is a round
 * to look at; then comes the answer. Agents have a script of their own.
 */

import http from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

import { replyToAgent } from './scripted_agent.js';

const RIGHT_KEY = 'Bearer sk-right';
const PIECE_CHARACTERS = 4; // as long as a token usually is

/** Words in a question, and the answer they ask for. */
const ANSWERS = {
  'without end': endless,
  'very long': veryLong,
  hostile: () => pieces(HOSTILE_ANSWER),
};

export const USUAL_ANSWER = [
  'The greeting is made in `greet.py:1-3`, and **shouted** in `src/shout.ts:1-4`.',
  '```python',
  'def greet(name):',
  '    return f"Hello, {name}!"',
  '```',
  '| where | what |\n|---|---|\n| `greet.py` | the words |\n| `src/shout.ts` | the noise |',
]
  .join('\n\n')
  .replace('python\n\ndef', 'python\ndef')
  .replace('):\n\n', '):\n')
  .replace('"\n\n```', '"\n```');

export const HOSTILE_ANSWER = [
  'Look: <img src=x onerror="window.hacked = 1"> <script>window.hacked = 2</script>',
  '[click](javascript:window.hacked=3) ![i](x" onerror="window.hacked=4)',
  '<iframe srcdoc="<script>parent.hacked=5</script>"></iframe> <svg onload="window.hacked=6">',
  '```html\n<b onmouseover="window.hacked=7">bold</b>\n```',
].join('\n\n');

/** Of a very long answer's parts, each with a heading. */
export const PART_TOKENS = 400;

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ url: string, asked: any[] }>}
 */
export async function scriptedModel(t) {
  /** @type {any[]} */
  const asked = [];
  const server = http.createServer(async (request, response) => {
    if (request.method === 'GET') {
      listModels(request, response);
      return;
    }
    const body = JSON.parse(await text(request));
    asked.push(body);
    if (body.stream) await stream(body, response);
    else answerTest(request, response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}/v1/chat/completions`, asked };
}

/**
 * @param {http.IncomingMessage} request
 * @param {http.ServerResponse} response
 */
function listModels(request, response) {
  const isRight = request.headers.authorization === RIGHT_KEY;
  const names = ['scripted-1', 'scripted-2', 'text-embedding-3-small'];
  const listed = { data: names.map((id) => ({ id, context_length: 131072 })) };
  response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' });
  response.end(JSON.stringify(isRight ? listed : { error: { message: 'invalid key' } }));
}

/**
 * @param {any} body
 * @param {http.ServerResponse} response
 */
async function stream(body, response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const say = async (/** @type {object} */ piece) => {
    if (!response.write(`data: ${JSON.stringify(piece)}\n\n`)) await once(response, 'drain');
  };
  const question = String(
    body.messages.findLast((/** @type {any} */ one) => one.role === 'user')?.content,
  );
  const hasSearched = body.messages.some((/** @type {any} */ one) => one.role === 'tool');
  const toAgent = replyToAgent(body);
  let count = 0;
  try {
    if (toAgent) {
      for (const piece of toAgent) await say(piece);
      count = toAgent.length;
    } else if (body.tools && !hasSearched) {
      await say({ choices: [{ index: 0, delta: { tool_calls: [SEARCH] } }] });
      await say({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
    } else {
      for await (const content of scripted(question)) {
        if (response.destroyed) return;
        await say({ choices: [{ index: 0, delta: { content } }] });
        count += 1;
      }
      await say({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    }
    const spent = { prompt_tokens: 120, completion_tokens: count, total_tokens: 120 + count };
    await say({ choices: [], usage: spent });
    response.end('data: [DONE]\n\n');
  } catch {
    response.destroy(); // whoever asked has gone
  }
}

const SEARCH = {
  index: 0,
  id: 'call_0',
  type: 'function',
  function: {
    name: 'search',
    arguments: JSON.stringify({ purpose: 'Find the greeting', queries: ['greet', 'shout'] }),
  },
};

/**
 * @param {string} question
 * @returns {AsyncIterable<string> | Iterable<string>}
 */
function scripted(question) {
  const found = Object.entries(ANSWERS).find(([words]) => question.includes(words));
  return found ? found[1](question) : pieces(USUAL_ANSWER);
}

/** @param {string} whole */
function* pieces(whole) {
  for (let at = 0; at < whole.length; at += PIECE_CHARACTERS) {
    yield whole.slice(at, at + PIECE_CHARACTERS);
  }
}

/** Goes on until whoever asked hangs up. */
async function* endless() {
  for (let number = 1; ; number += 1) {
    yield `Sentence ${number} of many. `;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * So many tokens of Markdown as the question says, as fast as they are taken.
 *
 * @param {string} question
 */
function* veryLong(question) {
  const tokens = Number(question.match(/very long: (\d+) tokens/)?.[1]);
  for (let token = 0; token < tokens; token += 1) {
    if (token % PART_TOKENS === 0) yield `\n\n## Part ${token / PART_TOKENS}\n\n`;
    else if (token % 80 === 0) yield '\n\n- `name` and **more** ';
    else yield `word${token % 97} `;
  }
}

/**
 * @param {http.IncomingMessage} request
 * @param {http.ServerResponse} response
 */
function answerTest(request, response) {
  const isRight = request.headers.authorization === RIGHT_KEY;
  response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' });
  response.end(isRight ? '{"choices":[]}' : '{"error":{"message":"invalid key"}}');
}
