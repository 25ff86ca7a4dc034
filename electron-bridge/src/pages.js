/**
 * The app's pages under a scheme of their own, so that they have an origin and headers.
 *
 * A page from `file:` has neither, and could read every file of the machine.
 */

import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';

import { CONTENT_SECURITY_POLICY, MIME_TYPES } from './page_api.js';

export const PAGES_SCHEME = 'codekernel';
export const PAGES_HOST = 'app';

/**
 * For `protocol.registerSchemesAsPrivileged`, before the app is ready. With compiled code kept, the
 * search box is there a sixth sooner; announcing all modules, as in a browser, made the first paint
 * four times as late and the box no sooner.
 */
export const privilegedScheme = Object.freeze({
  scheme: PAGES_SCHEME,
  privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true },
});

/**
 * @param {any} protocol Electron's, or a session's
 * @param {string} folder where the pages lie; nothing outside it is ever read
 */
export function servePages(protocol, folder) {
  protocol.handle(PAGES_SCHEME, (/** @type {Request} */ request) => pageResponse(request, folder));
}

/**
 * @param {{ url: string, method?: string }} request
 * @param {string} folder
 * @returns {Promise<Response>}
 */
export async function pageResponse(request, folder) {
  const url = new URL(request.url);
  const type = MIME_TYPES[path.extname(url.pathname)];
  if ((request.method ?? 'GET') !== 'GET' || url.host !== PAGES_HOST || !type) return notFound();
  const content = await readPage(folder, url.pathname);
  if (content === null) return notFound();
  return new Response(content, {
    headers: {
      'content-type': type,
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    },
  });
}

/**
 * @param {string} folder
 * @param {string} pathname
 */
async function readPage(folder, pathname) {
  try {
    const root = await realpath(folder);
    const file = await realpath(path.join(root, decodeURIComponent(pathname)));
    return file.startsWith(root + path.sep) ? await readFile(file) : null;
  } catch {
    return null;
  }
}

function notFound() {
  return new Response('Not found', { status: 404, headers: { 'content-type': 'text/plain' } });
}
