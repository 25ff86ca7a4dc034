/** The hub as the page uses it: requests, events, all sessions, and messages that wait to be sent. */

import { delayBefore } from './hub/backoff.js';
import { EventStream } from './hub/event_stream.js';
import { HubClient } from './hub/hub_client.js';
import { Outbox } from './sessions/outbox.js';
import { SessionStore } from './sessions/session_store.js';

/** @typedef {import('./hub/event_stream.js').HubEvent} HubEvent */
/** @typedef {import('./sessions/session_record.js').SessionRecord} SessionRecord */

/**
 * @typedef {object} Listeners
 * @property {() => void} revoked the hub does not know this device any longer
 * @property {(before: SessionRecord | undefined, now: SessionRecord | null) => void} noteSession
 * @property {(event: HubEvent) => void} deliver
 * @property {() => Promise<boolean>} reload events are missing: what is shown is read anew; false if
 *   that failed and may succeed later
 * @property {() => void} changed
 */

export class HubConnection {
  #wasConnected = false;
  /** Whether events are missing in what is shown. */
  #isStale = false;
  /** How often it could not be read since it was. */
  #failures = 0;
  #subscriptionId = '';
  #isClosed = false;
  #listeners;
  #delayBefore;

  /**
   * @param {string} key of this device
   * @param {Listeners} listeners
   * @param {{ delay?: typeof delayBefore }} [options]
   */
  constructor(key, listeners, { delay = delayBefore } = {}) {
    this.#listeners = listeners;
    this.#delayBefore = delay;
    this.client = new HubClient(key, listeners.revoked);
    this.store = new SessionStore(this.client, (before, now) => {
      listeners.noteSession(before, now);
      if (now?.isActive && before?.isActive === false) this.outbox.retryAll(now.id);
    });
    this.outbox = new Outbox(this.client, listeners.changed);
    this.stream = new EventStream({
      client: this.client,
      deliver: (event) => this.#deliver(event),
      changed: listeners.changed,
    });
  }

  get status() {
    return { state: this.stream.state, wasConnected: this.#wasConnected || this.store.isLoaded };
  }

  run() {
    this.stream.run();
  }

  /** The page or the network woke up. */
  wake() {
    this.stream.wake();
    this.outbox.flush();
  }

  close() {
    this.#isClosed = true;
    this.stream.close();
  }

  /** Tell the hub whether somebody looks at this page. */
  noteVisibility() {
    if (!this.#subscriptionId || this.stream.state !== 'connected') return;
    const visibility = document.hidden ? 'hidden' : 'visible';
    const body = { subscriptionId: this.#subscriptionId, visibility };
    this.client.post('/api/visibility', body).catch(() => {}); // the next connection tells it
  }

  /** @param {HubEvent} event */
  #deliver(event) {
    if (event.type === 'connection-changed') {
      this.#wasConnected = true;
      this.#subscriptionId = String(event.data?.subscriptionId ?? '');
      if (event.data?.resume !== 'ok') this.#isStale = true;
      if (this.#isStale) this.#reload();
      this.outbox.flush();
      return;
    }
    this.store.apply(event);
    this.#listeners.deliver(event);
  }

  /** Read anew what is shown; what fails is read again, by the next connection at the latest. */
  async #reload() {
    this.#isStale = false;
    const [isShown, isListed] = await Promise.all([
      this.#listeners.reload(),
      this.store.load().then(
        () => true,
        () => false,
      ),
    ]);
    this.#failures = isShown && isListed ? 0 : this.#failures + 1;
    if (this.#failures === 0) return;
    this.#isStale = true;
    setTimeout(
      () => {
        const isConnected = !this.#isClosed && this.stream.state === 'connected';
        if (isConnected && this.#isStale) this.#reload();
      },
      this.#delayBefore(this.#failures + 1),
    );
  }
}
