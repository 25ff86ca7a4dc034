/** The worker that keeps the files of the agents' page, with the caches and the network of a test. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

const ADDRESS = 'http://hub.test/agents/main.js';

/** @type {Map<string, (event: any) => void>} */
const listeners = new Map();
/** @type {Map<string, Response>} */
const kept = new Map();
const cache = {
  match: async (/** @type {Request} */ { url }) => kept.get(url)?.clone(),
  put: async (/** @type {Request} */ { url }, /** @type {Response} */ response) => {
    kept.set(url, response);
  },
};
Object.assign(globalThis, {
  addEventListener: (/** @type {string} */ type, /** @type {any} */ handle) =>
    listeners.set(type, handle),
  caches: { open: async () => cache },
  location: new URL('http://hub.test/agents_worker.js'),
});
await import('../pages/agents_worker.js');

/** @returns {Promise<Response>} what the worker answers the page with */
function ask() {
  return new Promise((resolve, reject) => {
    const respondWith = (/** @type {Promise<Response>} */ answer) => answer.then(resolve, reject);
    listeners.get('fetch')?.({ request: new Request(ADDRESS), respondWith });
  });
}

test('a slow hub is waited for, unless the file is kept', async (t) => {
  // A time that is over before anything was sent.
  t.mock.method(AbortSignal, 'timeout', () => AbortSignal.abort(new Error('too slow')));
  globalThis.fetch = async (_, options) => {
    options?.signal?.throwIfAborted();
    return new Response('sent');
  };
  assert.equal(await (await ask()).text(), 'sent');
  kept.set(ADDRESS, new Response('kept'));
  assert.equal(await (await ask()).text(), 'kept');
});
