/**
 * Comes with the two small pages of `codekernel web` itself. Keeps the page secret that a browser
 * was given with its address; and where the cookie is lost (cookies are shared with every other
 * server on 127.0.0.1, which can overwrite ours), asks for it again.
 */

import { readSecret, saveSecret } from './page_secret.js';

/** A browser that takes no cookies would come back for ever. */
const RETRY_INTERVAL_MS = 10_000;
const RETRIED_AT = 'codekernel.cookieAskedAt';

const given = document.querySelector('meta[name="codekernel-secret"]')?.getAttribute('content');
if (given) saveSecret(given);
else await requestCookie();

async function requestCookie() {
  const secret = readSecret();
  const lastRetry = Number(sessionStorage.getItem(RETRIED_AT));
  if (!secret || Date.now() - lastRetry < RETRY_INTERVAL_MS) return;
  sessionStorage.setItem(RETRIED_AT, String(Date.now()));
  const answer = await fetch('/cookie', { headers: { authorization: `Bearer ${secret}` } });
  if (answer.ok) location.reload();
}
