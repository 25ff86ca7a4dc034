/**
 * The hub's events, for as long as the page is open.
 *
 * Read with `fetch`, not with EventSource: that could send the token only in the address. A
 * connection that ends is made again and goes on after the last event; one that is silent for too
 * long is taken for dead.
 */

import { delayBefore } from './backoff.js';
import { failureOf } from './hub_client.js';
import { HubFailure, UNREACHABLE } from './hub_failure.js';
import { SseParser } from './sse_parser.js';

/** The hub sends something every 30 s. */
const STALE_AFTER_MS = 90_000;

/** @typedef {{ type: string, sessionId?: string, machineId?: string, [name: string]: any }} HubEvent */
/** @typedef {'connecting' | 'connected' | 'waiting'} StreamState */

export class EventStream {
  /** @type {StreamState} */
  state = 'connecting';
  /** When the next attempt is due, while waiting. */
  retryAt = 0;
  #lastEventId = '';
  #failures = 0;
  #isClosed = false;
  #lastHeard = 0;
  /** @type {AbortController | null} */
  #connection = null;
  /** @type {() => void} ends the pause before the next attempt */
  #endPause = () => {};
  #client;
  #deliver;
  #changed;
  #isVisible;
  #staleAfterMs;

  /**
   * @param {{
   *   client: import('./hub_client.js').HubClient,
   *   deliver: (event: HubEvent) => void,
   *   changed: () => void,
   *   isVisible?: () => boolean,
   *   staleAfterMs?: number,
   * }} options `changed`: of `state`
   */
  constructor({
    client,
    deliver,
    changed,
    isVisible = () => !document.hidden,
    staleAfterMs = STALE_AFTER_MS,
  }) {
    this.#client = client;
    this.#deliver = deliver;
    this.#changed = changed;
    this.#isVisible = isVisible;
    this.#staleAfterMs = staleAfterMs;
  }

  /** Connect, again and again, until closed. */
  async run() {
    while (!this.#isClosed) {
      this.#setState('connecting');
      try {
        await this.#client.withToken((token) => this.#read(token));
        this.#failures += 1; // the hub has ended it
      } catch (failure) {
        this.#failures += 1;
        this.retryAt = Date.now() + retryAfter(failure);
      }
      if (!this.#isClosed) await this.#pause();
    }
  }

  /** The page or the network woke up: do not wait, and do not trust a connection that slept. */
  wake() {
    this.#failures = 0;
    const isSilent = Date.now() - this.#lastHeard > this.#staleAfterMs / 3;
    if (this.state === 'connected' && isSilent) this.#connection?.abort();
    this.#endPause();
  }

  close() {
    this.#isClosed = true;
    this.#connection?.abort();
    this.#endPause();
  }

  /** @param {string} token */
  async #read(token) {
    const connection = new AbortController();
    this.#connection = connection;
    this.#lastHeard = Date.now();
    const watch = setInterval(() => {
      if (Date.now() - this.#lastHeard > this.#staleAfterMs) connection.abort();
    }, this.#staleAfterMs / 9);
    try {
      const response = await this.#open(token, connection.signal);
      const parser = new SseParser();
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
      const decoder = new TextDecoder();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        this.#lastHeard = Date.now();
        for (const event of parser.feed(decoder.decode(value, { stream: true }))) this.#take(event);
      }
    } catch (failure) {
      throw failure instanceof HubFailure ? failure : new HubFailure(UNREACHABLE, String(failure));
    } finally {
      clearInterval(watch);
      connection.abort();
    }
  }

  /**
   * @param {string} token
   * @param {AbortSignal} signal
   */
  async #open(token, signal) {
    const visibility = this.#isVisible() ? 'visible' : 'hidden';
    const response = await fetch(`/api/events?all=1&visibility=${visibility}`, {
      headers: {
        Authorization: `Bearer ${token}`,
        ...(this.#lastEventId && { 'Last-Event-ID': this.#lastEventId }),
      },
      cache: 'no-store',
      credentials: 'omit',
      signal,
    });
    if (response.ok) return response;
    throw failureOf(response, await response.json().catch(() => ({})));
  }

  /** @param {import('./sse_parser.js').ServerEvent} received */
  #take({ id, data }) {
    const event = JSON.parse(data);
    if (event.type === 'connection-changed') {
      this.#failures = 0;
      this.#setState('connected');
      // What is read anew is at least as new as any event before this one.
      if (event.data?.resume !== 'ok') this.#lastEventId = '';
    }
    this.#deliver(event);
    if (id) this.#lastEventId = id;
  }

  async #pause() {
    const wanted = Math.max(delayBefore(this.#failures), this.retryAt - Date.now());
    if (wanted <= 0) return;
    this.retryAt = Date.now() + wanted;
    this.#setState('waiting');
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wanted);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
    this.#endPause = () => {};
    this.retryAt = 0;
  }

  /** @param {StreamState} state */
  #setState(state) {
    if (state === this.state) return;
    this.state = state;
    this.#changed();
  }
}

/** @param {unknown} failure */
function retryAfter(failure) {
  return failure instanceof HubFailure ? failure.retryAfterSeconds * 1_000 : 0;
}
