/** The connection of the agents' page to the hub: tokens, events that resume, pairing. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { afterEach, beforeEach, test } from 'node:test';
import { text } from 'node:stream/consumers';

import { delayBefore } from '../pages/agents/hub/backoff.js';
import { EventStream } from '../pages/agents/hub/event_stream.js';
import { HubClient, sessionPath } from '../pages/agents/hub/hub_client.js';
import { HubFailure } from '../pages/agents/hub/hub_failure.js';
import { describeDevice, findCode } from '../pages/agents/hub/pairing.js';
import { SseParser } from '../pages/agents/hub/sse_parser.js';
import { HubConnection } from '../pages/agents/hub_connection.js';

const TOO_OLD = { status: 401, body: { error: 'Invalid token', code: 'invalid_token' } };
const connected = (/** @type {string} */ resume) =>
  `data: ${JSON.stringify({ type: 'connection-changed', data: { subscriptionId: 's', resume } })}\n\n`;

/** @typedef {{ path: string, headers: http.IncomingHttpHeaders, body: any }} Asked */

/** @type {http.Server} */
let server;
/** @type {Asked[]} */
let asked;
/** @type {(asked: Asked, response: http.ServerResponse) => void} */
let answer;
const { fetch: realFetch } = globalThis;

beforeEach(async () => {
  asked = [];
  server = http.createServer(async (request, response) => {
    const body = JSON.parse((await text(request)) || 'null');
    const one = { path: String(request.url), headers: request.headers, body };
    asked.push(one);
    answer(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  // A page asks its own origin; Node has none.
  globalThis.fetch = (path, options) =>
    realFetch(new URL(String(path), `http://127.0.0.1:${port}`), options);
});

afterEach(() => {
  globalThis.fetch = realFetch;
  server.closeAllConnections();
  server.close();
});

/**
 * @param {http.ServerResponse} response
 * @param {{ status?: number, body: object }} what
 */
function reply(response, { status = 200, body }) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const never = () => assert.fail('the device is not revoked');

test('a key is exchanged for a token once, and again when the token is too old', async () => {
  let signIns = 0;
  answer = ({ path, headers }, response) => {
    if (path === '/api/auth') {
      signIns += 1;
      reply(response, { body: { token: `token-${signIns}` } });
    } else if (headers.authorization === 'Bearer token-1' && asked.length > 4) {
      reply(response, TOO_OLD);
    } else reply(response, { body: { by: headers.authorization } });
  };
  const client = new HubClient('key', never);
  await Promise.all([client.get('/api/sessions'), client.get('/api/machines')]);
  assert.equal(signIns, 1);
  await client.get('/api/sessions');
  assert.deepEqual(await client.get('/api/sessions'), { by: 'Bearer token-2' });
  assert.equal(signIns, 2);
  assert.deepEqual(asked[0].body, { accessToken: 'key' });
});

test('a device that the hub has forgotten is told so', async () => {
  const unknown = { status: 401, body: { error: 'no', code: 'invalid_access_token' } };
  answer = (_, response) => reply(response, unknown);
  let isRevoked = false;
  const client = new HubClient('key', () => (isRevoked = true));
  await assert.rejects(client.get('/api/sessions'), { code: 'invalid_access_token' });
  assert.ok(isRevoked);
});

test('a sign-in that got no answer is tried again with the next request', async () => {
  answer = ({ path }, response) => {
    if (asked.length === 1) response.destroy();
    else reply(response, { body: path === '/api/auth' ? { token: 't' } : { ok: true } });
  };
  const client = new HubClient('key', never);
  const failure = await client.get('/api/sessions').catch((each) => each);
  assert.ok(failure instanceof HubFailure && failure.isTemporary);
  assert.deepEqual(await client.get('/api/sessions'), { ok: true });
});

test('a stream that is cut goes on after the last event it had', async () => {
  answer = ({ path, headers }, response) => {
    if (path === '/api/auth') return reply(response, { body: { token: 't' } });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (headers['last-event-id']) {
      response.write(`${connected('ok')}id: 1:8\ndata: {"type":"second"}\n\n`);
    } else {
      response.write(`${connected('gap')}id: 1:7\ndata: {"type":"first"}\n\n`);
      setTimeout(() => response.destroy(), 20);
    }
  };
  /** @type {string[]} */
  const seen = [];
  await new Promise((resolve) => {
    const stream = new EventStream({
      client: new HubClient('key', never),
      deliver: ({ type }) => {
        seen.push(type);
        if (type !== 'second') return;
        stream.close();
        resolve(undefined);
      },
      changed: () => {},
      isVisible: () => true,
    });
    stream.run();
  });
  assert.deepEqual(seen, ['connection-changed', 'first', 'connection-changed', 'second']);
  const streams = asked.filter(({ path }) => path.startsWith('/api/events'));
  assert.deepEqual(
    streams.map(({ headers }) => headers['last-event-id']),
    [undefined, '1:7'],
  );
  assert.ok(
    streams.every(({ path }) => !path.includes('token')),
    'no token in an address',
  );
});

test('a page that wakes up does not wait for the next attempt', async () => {
  let isUp = false;
  answer = ({ path }, response) => {
    if (path === '/api/auth') return reply(response, { body: { token: 't' } });
    if (!isUp) return reply(response, { status: 503, body: { code: 'too_many', error: '' } });
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(connected('gap'));
  };
  await new Promise((resolve) => {
    const stream = new EventStream({
      client: new HubClient('key', never),
      deliver: () => {
        stream.close();
        resolve(undefined);
      },
      changed: () => {
        if (stream.state !== 'waiting') return;
        assert.ok(stream.retryAt > Date.now());
        isUp = true;
        setTimeout(() => stream.wake(), 1);
      },
      isVisible: () => false,
    });
    stream.run();
  });
  assert.ok(asked.at(-1)?.path.endsWith('visibility=hidden'));
});

test('a connection that is silent for too long is made again', async () => {
  answer = ({ path }, response) => {
    if (path === '/api/auth') return reply(response, { body: { token: 't' } });
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(connected('gap'));
  };
  let connections = 0;
  await new Promise((resolve) => {
    const stream = new EventStream({
      client: new HubClient('key', never),
      deliver: () => {
        connections += 1;
        if (connections < 2) return;
        stream.close();
        resolve(undefined);
      },
      changed: () => {},
      isVisible: () => true,
      staleAfterMs: 90,
    });
    stream.run();
  });
  assert.equal(connections, 2);
});

test('what could not be read after a gap is read by the next connection, which misses nothing', async (t) => {
  /** @type {http.ServerResponse | undefined} */
  let list;
  /** @type {() => void} */
  let finish = () => {};
  const finished = new Promise((resolve) => (finish = () => resolve(undefined)));
  answer = ({ path, headers }, response) => {
    if (path === '/api/auth') return reply(response, { body: { token: 't' } });
    if (path === '/api/machines') return reply(response, { body: { machines: [] } });
    if (path === '/api/sessions') {
      if (list) return reply(response, { body: { sessions: [] } });
      list = response;
      stream?.destroy();
      return undefined;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (!headers['last-event-id']) {
      stream = response;
      return response.write(`${connected('gap')}id: 1:7\ndata: {"type":"first"}\n\n`);
    }
    // While there is no stream, nothing is read.
    if (list) reply(list, { status: 503, body: { code: 'no_machine_online', error: '' } });
    setTimeout(() => response.write(connected('ok')), 50);
    return undefined;
  };
  /** @type {http.ServerResponse | undefined} */
  let stream;
  const { document, localStorage } = globalThis;
  Object.assign(globalThis, { document: { hidden: false }, localStorage: { length: 0 } });
  let readings = 0;
  const connection = new HubConnection(
    'key',
    {
      revoked: never,
      noteSession: (_, session) => session || finish(),
      deliver: () => {},
      reload: async () => (readings += 1) > 0,
      changed: () => {},
    },
    { delay: () => 1 },
  );
  t.after(() => {
    connection.close();
    Object.assign(globalThis, { document, localStorage });
  });
  connection.run();
  await finished;
  assert.ok(connection.store.isLoaded);
  assert.equal(readings, 2);
});

test('the pauses grow from nothing to thirty seconds, and after eight attempts to five minutes', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((attempt) => delayBefore(attempt, () => 0));
  assert.deepEqual(delays, [0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 300_000]);
  assert.equal(
    delayBefore(2, () => 0.5),
    1250,
  );
});

test('events are the same however their text is cut', () => {
  const whole = 'id: 1:2\ndata: {"a":1}\n\n: comment\n\ndata: {"b":\ndata: 2}\r\n\r\nid: 1:3\nda';
  const expected = [
    { id: '1:2', data: '{"a":1}' },
    { id: '', data: '{"b":\n2}' },
  ];
  for (let at = 0; at <= whole.length; at += 1) {
    const parser = new SseParser();
    const events = [...parser.feed(whole.slice(0, at)), ...parser.feed(whole.slice(at))];
    assert.deepEqual(events, expected, `cut at ${at}`);
  }
});

test('a code is found in the fragment of an address, and nowhere else', () => {
  assert.equal(findCode('#pair=ABCD-EFGH'), 'ABCD-EFGH');
  assert.equal(findCode('#pair=%41'), 'A');
  for (const other of ['', '#/', '#/session/pair=x', '?pair=A', '#pair=%', '#pair=']) {
    assert.equal(findCode(other), '', other);
  }
});

test('a device is named after what it is', () => {
  assert.equal(describeDevice('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0)'), 'iPhone');
  assert.equal(describeDevice('Mozilla/5.0 (Linux; Android 15) Mobile'), 'Android phone');
  assert.equal(describeDevice('curl'), 'Browser');
});

test('the parts of a path are escaped', () => {
  assert.equal(sessionPath('a/b', 'messages', '?x'), '/api/sessions/a%2Fb/messages/%3Fx');
});
