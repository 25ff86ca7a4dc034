/** A browser beside hostile neighbours: other servers on 127.0.0.1 get our cookie, and no more. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import test from 'node:test';

import { launchBrowser } from './support/browser.js';
import { TIMEOUT_MS } from './support/desktop.js';
import { makeWorkspace } from './support/workspace.js';

test('a neighbour who is sent the cookie, and overwrites it, gets nothing and breaks nothing', async (t) => {
  const place = await makeWorkspace(t);
  const host = await launchBrowser(t, place, { folder: place.repo });
  const page = await host.page('repository');
  await running(page);
  const { origin, port } = new URL(host.address);
  const neighbour = await server(t, `codekernel-${port}=overwritten; Path=/`);

  const other = await page.context().newPage();
  await other.goto(neighbour.address);
  const [captured] = neighbour.cookies;
  assert.match(captured, new RegExp(`codekernel-${port}=`));
  assert.equal(await upgradeStatus(port, origin, captured), 403);

  // The tab that is open goes on, and one that is loaded anew gets the cookie again.
  await running(page);
  await page.reload();
  await running(page);
  await other.goto(`${origin}/repos.html`);
  await running(other);

  // Where the cookie is lost while the files of a page are on their way, it says so.
  const late = await page.context().newPage();
  late.setDefaultTimeout(TIMEOUT_MS);
  /** @type {Set<import('playwright-core').Request>} */
  const pending = new Set();
  late.on('request', (request) => pending.add(request));
  for (const end of /** @type {const} */ (['requestfinished', 'requestfailed'])) {
    late.on(end, (request) => pending.delete(request));
  }
  const overwrite = async (/** @type {import('playwright-core').Route} */ route) => {
    // All else has arrived: without it there is no page that could say anything.
    while (pending.size > 1) await late.waitForEvent('requestfinished');
    await page.context().request.get(neighbour.address);
    await route.continue();
  };
  await late.route('**/settings/main.js', overwrite, { times: 1 });
  await late.goto(`${origin}/settings.html`);
  const failure = late.getByRole('alert').filter({ hasText: 'Load the page again.' });
  await failure.waitFor();
  await failure.getByRole('button', { name: 'Try again' }).click();
  await late.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();

  // A page of the neighbour's can neither read us, nor embed us, nor open a connection.
  await other.goto(neighbour.address);
  assert.equal(await opens(other, `ws://127.0.0.1:${port}/kernel`), false);
  assert.equal(await fetched(other, `${origin}/cookie`), 'refused');
  // The console says once that the cookie was not good.
  for (const problem of host.problems) assert.match(problem, /403 \(Forbidden\)$/);
});

/** @param {import('playwright-core').Page} page one of ours, whose connection is open */
async function running(page) {
  await page.waitForFunction(() => Boolean(window.kernel));
  await page.evaluate(() => window.kernel.getRepos({}));
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} cookie what it sets in each browser that comes by
 */
async function server(t, cookie) {
  /** @type {string[]} */
  const cookies = [];
  const listening = http.createServer((request, response) => {
    cookies.push(request.headers.cookie ?? '');
    response.setHeader('set-cookie', [cookie, 'prefs={"theme":"dark"}; Path=/']);
    response.setHeader('content-type', 'text/html');
    response.end('<p>a neighbour');
  });
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  t.after(() => listening.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (listening.address());
  return { cookies, address: `http://127.0.0.1:${port}/` };
}

/**
 * The status that a WebSocket gets which forges everything but the page secret.
 *
 * @param {string} port
 * @param {string} origin
 * @param {string} cookie
 */
async function upgradeStatus(port, origin, cookie) {
  const headers = {
    cookie,
    origin,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
    'sec-websocket-protocol': 'codekernel',
  };
  const request = http.get({ host: '127.0.0.1', port, path: '/kernel', headers });
  const [response] = await once(request, 'response');
  response.resume();
  return response.statusCode;
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} address
 */
function opens(page, address) {
  return page.evaluate(
    (target) =>
      new Promise((resolve) => {
        const socket = new WebSocket(target, 'codekernel');
        socket.addEventListener('open', () => resolve(true));
        socket.addEventListener('error', () => resolve(false));
      }),
    address,
  );
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} address
 */
function fetched(page, address) {
  return page.evaluate(
    (target) =>
      fetch(target, { credentials: 'include' }).then(
        (answer) => answer.text(),
        () => 'refused',
      ),
    address,
  );
}
