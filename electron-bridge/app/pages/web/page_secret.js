/**
 * The secret that opens connections to `codekernel web`. In localStorage because that belongs to
 * our port alone, while cookies go to every port of 127.0.0.1; and all tabs have it.
 */

const KEY = 'codekernel.pageSecret';
/** The subprotocol that is agreed on. */
const SUBPROTOCOL = 'codekernel';

/** @param {string} secret */
export function saveSecret(secret) {
  localStorage.setItem(KEY, secret);
}

/** @returns {string | null} */
export function readSecret() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // the browser keeps nothing for us
  }
}

/**
 * A tab that was let in by a new run of `codekernel web` lets in the others that are open.
 *
 * @param {() => void} listener
 */
export function onNewSecret(listener) {
  globalThis.addEventListener('storage', ({ key, newValue }) => {
    if (key === KEY && newValue) listener();
  });
}

/** What a WebSocket is opened with: the secret goes into no address and no log. */
export function subprotocols() {
  const secret = readSecret();
  return secret ? [SUBPROTOCOL, secret] : [SUBPROTOCOL];
}
