/**
 * The door between windows and the kernel, on the side of the main process.
 *
 * Every call is checked: the window was admitted, the frame is its top one and shows the page that
 * was admitted, and this kind of window may ask this. The page never names a session.
 */

import { KernelError, Reason } from './errors.js';
import { Guest, plainFailure } from './guest.js';
import { CHANNELS } from './page_api.js';
import { carryOut } from './window_calls.js';
import { WindowSessions } from './window_sessions.js';

/** @typedef {(fields: Record<string, any>, contents: any) => unknown} HostCall */

export class KernelDoor {
  /** @type {Map<number, Guest>} */
  #guests = new Map();
  #sessions;

  /**
   * @param {{
   *   ipcMain: any,
   *   bridge: import('./bridge.js').KernelBridge,
   *   hostCalls?: Record<string, HostCall>,
   * }} options `hostCalls`: what the app itself offers its pages, by name
   */
  constructor({ ipcMain, bridge, hostCalls = {} }) {
    this.bridge = bridge;
    this.hostCalls = new Map(Object.entries(hostCalls));
    this.#sessions = new WindowSessions(bridge);
    ipcMain.handle(
      CHANNELS.CALL,
      (/** @type {any} */ event, /** @type {any} */ call, /** @type {any} */ fields) =>
        this.#answer(() => this.#call(this.#guest(event, call), call, checked(fields))),
    );
    ipcMain.handle(
      CHANNELS.CONVERSE,
      (/** @type {any} */ event, /** @type {any} */ key, /** @type {any} */ question) =>
        this.#answer(() => this.#converse(this.#guest(event, 'converse'), key, checked(question))),
    );
    ipcMain.on(CHANNELS.STOP, (/** @type {any} */ event, /** @type {any} */ key) =>
      this.#known(event)?.stop(key),
    );
    ipcMain.on(CHANNELS.READ, (/** @type {any} */ event, /** @type {any} */ key) =>
      this.#known(event)?.read(key),
    );
    this.#forward();
  }

  /**
   * Let a window in.
   *
   * @param {any} contents its webContents
   * @param {{ page: string, calls: readonly string[] }} rights
   *   `page`: the address it shows; what stands behind ? and # is no matter
   */
  admit(contents, { page, calls }) {
    const guest = new Guest(contents, { page: placeOf(page) ?? page, calls });
    this.#guests.set(contents.id, guest);
    contents.on('did-start-navigation', (/** @type {any} */ details) => {
      if (details.isMainFrame && !details.isSameDocument) guest.reset();
    });
    contents.on('render-process-gone', () => guest.reset());
    contents.once('destroyed', () => {
      this.#guests.delete(contents.id);
      guest.leave();
      this.#sessions.close(guest).catch((error) => this.#note(error));
    });
  }

  /**
   * @param {Guest} guest
   * @param {string} call
   * @param {Record<string, any>} fields
   */
  #call(guest, call, fields) {
    const hostCall = this.hostCalls.get(call);
    if (hostCall) return hostCall(fields, guest.contents);
    return carryOut(this.bridge, this.#sessions, guest, call, fields);
  }

  /**
   * @param {Guest} guest
   * @param {unknown} key
   * @param {Record<string, any>} question
   */
  async #converse(guest, key, question) {
    if (!Number.isSafeInteger(key)) throw forbidden('A conversation needs a number.');
    const { modelName, conversationId, query } = question;
    const isAgent = question.isAgent === true;
    const asked = { modelName, conversationId, query, isAgent };
    guest.begin(Number(key), await this.#sessions.of(guest), asked);
  }

  /** @param {() => unknown} work */
  async #answer(work) {
    try {
      return { data: await work() };
    } catch (error) {
      if (!(error instanceof KernelError)) this.#note(error);
      return { failure: plainFailure(error) };
    }
  }

  /**
   * @param {any} event
   * @param {unknown} call
   */
  #guest(event, call) {
    const guest = this.#known(event);
    if (!guest) throw forbidden('This page may not use the kernel.');
    if (typeof call !== 'string' || !guest.calls.has(call)) {
      throw forbidden(`This window may not ask for ${String(call).slice(0, 80)}.`);
    }
    return guest;
  }

  /** @param {any} event */
  #known({ sender, senderFrame: frame }) {
    const guest = this.#guests.get(sender.id);
    if (!guest || guest.contents !== sender || !frame || frame.parent !== null) return undefined;
    return placeOf(frame.url) === guest.page ? guest : undefined;
  }

  #forward() {
    const told =
      (/** @type {string} */ type) =>
      (/** @type {any} */ { owner }, /** @type {any} */ reason) => {
        if (owner instanceof Guest)
          owner.tell({ type, ...(reason && { failure: plainFailure(reason) }) });
      };
    for (const type of ['sessionPrepared', 'sessionCrashed', 'sessionLost']) {
      this.bridge.on(type, told(type));
    }
    this.bridge.on('embeddingStatus', ({ owner }, message) => {
      if (owner instanceof Guest) owner.statuses.add(message);
    });
    this.bridge.on('state', (state, reason) => {
      const event = {
        type: 'kernelState',
        state,
        ...(reason && { failure: plainFailure(reason) }),
      };
      for (const guest of this.#guests.values()) guest.tell(event);
    });
  }

  /** @param {unknown} error */
  #note(error) {
    this.bridge.log.write(`[bridge] ${error instanceof Error ? error.stack : String(error)}`);
  }
}

/** @param {unknown} fields */
function checked(fields) {
  if (fields === undefined) return {};
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields)) {
    throw new KernelError('WRONG_PARAM', 'The fields of a request are an object.');
  }
  return /** @type {Record<string, any>} */ (fields);
}

/** @param {string} url */
function placeOf(url) {
  if (!URL.canParse(url)) return null;
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** @param {string} message */
function forbidden(message) {
  return new KernelError(Reason.FORBIDDEN, message);
}
