/** The session that is looked at: its messages, read by pages and kept up to date by events. */

import { sessionPath } from '../hub/hub_client.js';
import { MessageLog } from './message_log.js';

/** @typedef {import('../hub/event_stream.js').HubEvent} HubEvent */

const PAGE_SIZE = 100;

export class OpenSession {
  log = new MessageLog();
  /** @type {unknown} */
  failure = null;
  #isReading = false;
  #isStale = false;
  #client;
  #changed;

  /**
   * @param {string} id
   * @param {import('../hub/hub_client.js').HubClient} client
   * @param {() => void} changed
   */
  constructor(id, client, changed) {
    this.id = id;
    this.#client = client;
    this.#changed = changed;
  }

  /** Read the newest messages; what is asked for meanwhile is read after it. */
  async load() {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        const path = `${sessionPath(this.id, 'messages')}?limit=${PAGE_SIZE}`;
        this.log.addLatest(await this.#client.get(path));
        this.failure = null;
      }
    } catch (failure) {
      this.failure = failure;
    } finally {
      this.#isReading = false;
    }
    this.#changed();
  }

  /** Read the page before the first message. */
  async loadEarlier() {
    const query = `?limit=${PAGE_SIZE}&beforeSeq=${this.log.firstSeq}&beforeAt=0`;
    this.log.addEarlier(await this.#client.get(sessionPath(this.id, 'messages') + query));
    this.#changed();
  }

  /** Events are missing. */
  reload() {
    this.log.endGrowing();
    return this.load();
  }

  /** @param {HubEvent} event */
  apply(event) {
    if (event.sessionId !== this.id) return;
    switch (event.type) {
      case 'message-received':
        this.log.receive(event.message);
        break;
      case 'message-growing':
        this.log.grow(event.message);
        break;
      case 'messages-consumed':
        this.log.consume(event.localIds ?? [], event.invokedAt);
        break;
      case 'message-cancelled':
        this.log.remove(event.messageId);
        break;
      case 'messages-invalidated':
        this.reload();
        return;
      case 'session-updated':
        if (event.data?.thinking === false) this.log.endGrowing();
        break;
      default:
        return;
    }
    this.#changed();
  }
}
