/** A chat endpoint on loopback that accepts one key, and streams the same answer to everybody. */

import http from 'node:http';
import { text } from 'node:stream/consumers';

const RIGHT_KEY = 'Bearer sk-right';
/** As in tests/support/chat_endpoint.py, because PROTOCOL.md shows what becomes of it. */
const STREAMED = [
  { choices: [{ index: 0, delta: { content: 'It is `hello.py:1-2`' } }] },
  { choices: [{ index: 0, delta: { content: ' that says so.' }, finish_reason: 'stop' }] },
  { choices: [], usage: { prompt_tokens: 120, completion_tokens: 9, total_tokens: 129 } },
];

/** Starts one for the length of a test; its url. */
export async function chatEndpoint(t) {
  const server = http.createServer(async (request, response) => {
    const asked = JSON.parse(await text(request));
    if (asked.stream) {
      const pieces = STREAMED.map((piece) => `data: ${JSON.stringify(piece)}\n\n`);
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
