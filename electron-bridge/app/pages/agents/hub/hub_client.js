/**
 * Requests to the hub.
 *
 * The key of the device is exchanged for a token of some minutes, which is in memory only; one that
 * has expired is exchanged again, once.
 */

import { HubFailure, UNREACHABLE } from './hub_failure.js';

/** As long as the hub gives a machine for its answer, and a little more. */
const REQUEST_TIMEOUT_MS = 40_000;

/**
 * @param {string} method
 * @param {string} path
 * @param {{ body?: object, token?: string }} [options]
 * @returns {Promise<any>}
 */
export async function requestJson(method, path, { body, token } = {}) {
  const headers = {
    ...(body && { 'Content-Type': 'application/json' }),
    ...(token && { Authorization: `Bearer ${token}` }),
  };
  let response;
  let answer;
  try {
    response = await fetch(path, {
      method,
      headers,
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      ...(body && { body: JSON.stringify(body) }),
    });
    answer = await response.json();
  } catch (failure) {
    if (response && failure instanceof SyntaxError) answer = {};
    else throw new HubFailure(UNREACHABLE, String(failure));
  }
  if (!response.ok) throw failureOf(response, answer);
  return answer;
}

/**
 * @param {Response} response
 * @param {any} answer
 */
export function failureOf(response, answer) {
  const { error = response.statusText, code = `http_${response.status}` } = answer ?? {};
  const retryAfterSeconds = Number(response.headers.get('Retry-After')) || 0;
  return new HubFailure(code, error, { status: response.status, retryAfterSeconds });
}

export class HubClient {
  /** @type {Promise<string> | null} */
  #token = null;
  #key;
  #revoked;

  /**
   * @param {string} key of the device
   * @param {() => void} revoked the hub does not know the key any longer
   */
  constructor(key, revoked) {
    this.#key = key;
    this.#revoked = revoked;
  }

  /** @param {string} path */
  get(path) {
    return this.#request('GET', path);
  }

  /**
   * @param {string} path
   * @param {object} [body]
   */
  post(path, body = {}) {
    return this.#request('POST', path, body);
  }

  /**
   * @param {string} path
   * @param {object} body
   */
  patch(path, body) {
    return this.#request('PATCH', path, body);
  }

  /** @param {string} path */
  delete(path) {
    return this.#request('DELETE', path);
  }

  /**
   * Do something with a token, and once more if it was too old.
   *
   * @template Value
   * @param {(token: string) => Promise<Value>} work
   * @returns {Promise<Value>}
   */
  async withToken(work) {
    this.#token ??= this.#signIn();
    const used = this.#token;
    try {
      return await work(await used);
    } catch (failure) {
      if (!(failure instanceof HubFailure) || failure.status !== 401) throw failure;
      if (this.#token === used) this.#token = this.#signIn();
      return work(await this.#token);
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   */
  #request(method, path, body) {
    return this.withToken((token) => requestJson(method, path, { body, token }));
  }

  async #signIn() {
    try {
      const body = { accessToken: this.#key };
      const { token } = await requestJson('POST', '/api/auth', { body });
      return String(token);
    } catch (failure) {
      this.#token = null; // the next request tries again
      if (failure instanceof HubFailure && failure.code === 'invalid_access_token') this.#revoked();
      throw failure;
    }
  }
}

/**
 * The address of a session's route.
 *
 * @param {string} sessionId
 * @param {...string} rest
 */
export function sessionPath(sessionId, ...rest) {
  return ['/api/sessions', ...[sessionId, ...rest].map(encodeURIComponent)].join('/');
}
