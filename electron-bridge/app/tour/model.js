/** A language model on loopback that says what a tour of Django needs; an agent is known by its tools. */

import http from 'node:http';
import { text } from 'node:stream/consumers';

const PIECE_CHARACTERS = 12;

/**
 * @param {{ answer: string, searches: string[], rounds: { says?: string, calls?: [string, object][] }[] }} script
 *   `rounds` are an agent's
 */
export async function startModel({ answer, searches, rounds }) {
  const server = http.createServer(async (request, response) => {
    const { messages, tools = [] } = JSON.parse(await text(request));
    const task = messages.findLastIndex((/** @type {any} */ one) => one.role === 'user');
    const after = messages.slice(task + 1);
    const round = after.filter((/** @type {any} */ one) => one.role === 'assistant').length;
    const isAgent = tools.some((/** @type {any} */ tool) => tool.function.name === 'plan');
    const search = [['search', { purpose: 'Find where sessions expire', queries: searches }]];
    const asked = round ? { says: answer } : { calls: search };
    const { says = '', calls = [] } = isAgent ? (rounds[round] ?? { says: 'Done.' }) : asked;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let at = 0; at < says.length; at += PIECE_CHARACTERS) {
      write(response, { delta: { content: says.slice(at, at + PIECE_CHARACTERS) } });
    }
    for (const [index, [name, given]] of calls.entries()) {
      const call = { name, arguments: JSON.stringify(given) };
      const entry = { index, id: `call_${round}_${index}`, type: 'function', function: call };
      write(response, { delta: { tool_calls: [entry] } });
    }
    write(response, { delta: {}, finish_reason: calls.length ? 'tool_calls' : 'stop' });
    response.end('data: [DONE]\n\n');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}/v1/chat/completions`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * @param {http.ServerResponse} response
 * @param {object} choice
 */
function write(response, choice) {
  response.write(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
}
