/**
 * A chat endpoint on loopback that accepts one key, and streams the same answer to everybody.
 *
 * An agent, which is known by its tools, wants to delete a file first.
 */

import http from 'node:http';
import { text } from 'node:stream/consumers';

const RIGHT_KEY = 'Bearer sk-right';
/** As in tests/support/chat_endpoint.py, because PROTOCOL.md shows what becomes of it. */
const STREAMED = [
  { choices: [{ index: 0, delta: { content: 'It is `hello.py:1-2`' } }] },
  { choices: [{ index: 0, delta: { content: ' that says so.' }, finish_reason: 'stop' }] },
  { choices: [], usage: { prompt_tokens: 120, completion_tokens: 9, total_tokens: 129 } },
];

const call = (index, name, given) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name, arguments: given },
});
const CALLED = [
  { choices: [{ index: 0, delta: { reasoning_content: 'It is small.' } }] },
  {
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [
            call(0, 'plan', '{"action":"skip"}'),
            call(1, 'delete_file', '{"path":"hello.py"}'),
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
  },
  { choices: [], usage: { prompt_tokens: 80, completion_tokens: 20, total_tokens: 100 } },
];

const LISTED = { object: 'list', data: [{ id: 'deepseek-chat' }, { id: 'text-embedding-1' }] };

/** Starts one for the length of a test; its url. */
export async function chatEndpoint(t) {
  const server = http.createServer(async (request, response) => {
    if (request.method === 'GET') {
      const isKnown = request.headers.authorization === RIGHT_KEY;
      response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isKnown ? LISTED : { error: { message: 'invalid key' } }));
      return;
    }
    const asked = JSON.parse(await text(request));
    if (asked.stream) {
      const isAgent = asked.tools?.some((tool) => tool.function.name === 'plan');
      const hasCalled = asked.messages.some(({ role }) => role === 'tool');
      const script = isAgent && !hasCalled ? CALLED : STREAMED;
      const pieces = script.map((piece) => `data: ${JSON.stringify(piece)}\n\n`);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${pieces.join('')}data: [DONE]\n\n`);
      return;
    }
    const isRight = request.headers.authorization === RIGHT_KEY;
    response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' });
    response.end(isRight ? '{"choices":[]}' : '{"error":{"message":"invalid key"}}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}/v1/chat/completions`;
}
