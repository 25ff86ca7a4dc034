/**
 * Keeps the files of the agents' page, so that it opens without the hub; and shows its notices.
 *
 * Only files are kept, never an answer of the hub: what agents say is in no cache. The hub's own
 * files are asked for first, so that the page is never older than the hub.
 */

const CACHE = 'codekernel-agents';
/** A hub that does not send a file in this time is done without, if the file is kept. */
const TIMEOUT_MS = 4_000;
const FILE = /\.(?:html|js|css|svg|png|webmanifest)$/;
const worker = /** @type {any} */ (globalThis);

worker.addEventListener('install', () => worker.skipWaiting());
worker.addEventListener('activate', (/** @type {any} */ event) =>
  event.waitUntil(worker.clients.claim()),
);

worker.addEventListener('message', (/** @type {any} */ event) => {
  const { type, addresses } = event.data ?? {};
  if (type === 'keep' && Array.isArray(addresses)) event.waitUntil(keep(addresses));
});

worker.addEventListener('fetch', (/** @type {any} */ event) => {
  if (event.request.method === 'GET' && isFile(event.request.url)) {
    event.respondWith(answer(event.request));
  }
});

worker.addEventListener('notificationclick', (/** @type {any} */ event) => {
  event.notification.close();
  event.waitUntil(openSession(String(event.notification.data?.sessionId ?? '')));
});

/** @param {string} address */
function isFile(address) {
  const { origin, pathname, search } = new URL(address);
  return (
    origin === worker.location.origin &&
    search === '' &&
    !pathname.startsWith('/api/') &&
    (pathname === '/' || FILE.test(pathname))
  );
}

/** @param {string[]} addresses of this version of the page; others are forgotten */
async function keep(addresses) {
  const wanted = new Set(addresses.filter(isFile));
  const cache = await caches.open(CACHE);
  for (const request of await cache.keys()) {
    if (!wanted.has(request.url)) await cache.delete(request);
  }
  await Promise.all([...wanted].map((address) => cache.add(address).catch(() => {})));
}

/** @param {Request} request */
async function answer(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request);
  try {
    const response = await fetch(request, kept && { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch (failure) {
    if (kept) return kept;
    throw failure;
  }
}

/** @param {string} sessionId */
async function openSession(sessionId) {
  const [page] = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (!page) return worker.clients.openWindow(`/#/session/${encodeURIComponent(sessionId)}`);
  page.postMessage({ type: 'open-session', sessionId });
  return page.focus();
}
