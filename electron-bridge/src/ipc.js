/**
 * Answers the calls of windows in the main process.
 *
 * Every call is checked: the window was admitted, the frame is its top one and shows the page that
 * was admitted, and this kind of window may ask this. The page never names a session.
 */

import { KernelError, Reason } from './errors.js';
import { WindowClient, dumpFailure } from './window_client.js';
import { CHANNELS } from './page_api.js';
import { carryOut } from './window_calls.js';
import { WindowSessions } from './window_sessions.js';

/**
 * @typedef {(
 *   fields: Record<string, any>,
 *   contents: any,
 *   session: import('./repo_session.js').RepoSession | undefined,
 * ) => unknown} HostCall `contents`: of the window that asks; `session`: of what it shows
 */

export class KernelIpc {
  /** @type {Map<number, WindowClient>} */
  #clients = new Map();
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
        this.#reply(() => this.#call(this.#requireClient(event, call), call, checkFields(fields))),
    );
    ipcMain.handle(
      CHANNELS.CONVERSE,
      (/** @type {any} */ event, /** @type {any} */ key, /** @type {any} */ question) =>
        this.#reply(() =>
          this.#converse(this.#requireClient(event, 'converse'), key, checkFields(question)),
        ),
    );
    ipcMain.on(CHANNELS.STOP, (/** @type {any} */ event, /** @type {any} */ key) =>
      this.#findClient(event)?.stopConversation(key),
    );
    ipcMain.on(CHANNELS.READ, (/** @type {any} */ event, /** @type {any} */ key) =>
      this.#findClient(event)?.onPartRead(key),
    );
    this.#forwardEvents();
  }

  /**
   * Let a window in.
   *
   * @param {any} contents its webContents
   * @param {{ page: string | readonly string[], calls: readonly string[] }} rights
   *   `page`: the address that it shows, or those; what stands behind ? and # is no matter
   */
  addWindow(contents, { page, calls }) {
    const pages = [page].flat().map((each) => pageOf(each) ?? each);
    const client = new WindowClient(contents, { pages, calls });
    this.#clients.set(contents.id, client);
    contents.on('did-start-navigation', (/** @type {any} */ details) => {
      if (details.isMainFrame && !details.isSameDocument) client.stopConversations();
    });
    contents.on('render-process-gone', () => client.stopConversations());
    contents.once('destroyed', () => {
      this.#clients.delete(contents.id);
      client.disconnect();
      this.#sessions.closeAll(client).catch((error) => this.#log(error));
    });
  }

  /**
   * Ask a window's page to show a place.
   *
   * @param {any} contents
   * @param {string} address
   */
  requestPlace(contents, address) {
    this.#clients.get(contents.id)?.sendEvent({ type: 'placeRequested', address });
  }

  /**
   * @param {WindowClient} client
   * @param {string} call
   * @param {Record<string, any>} fields
   */
  #call(client, call, fields) {
    const hostCall = this.hostCalls.get(call);
    if (hostCall) return hostCall(fields, client.contents, this.#sessions.find(client));
    return carryOut(this.bridge, this.#sessions, client, call, fields);
  }

  /**
   * @param {WindowClient} client
   * @param {unknown} key
   * @param {Record<string, any>} question
   */
  async #converse(client, key, question) {
    if (!Number.isSafeInteger(key)) throw forbiddenError('A conversation needs a number.');
    const { modelName, conversationId, query } = question;
    const [isAgent, isFollowed] = [question.isAgent === true, question.isFollowed === true];
    const reviews = question.reviews === true;
    const how = { isAgent, isFollowed, reviews, goesOn: true };
    const fields = { modelName, conversationId, query, ...how };
    client.startConversation(Number(key), await this.#sessions.get(client), fields);
  }

  /** @param {() => unknown} work */
  async #reply(work) {
    try {
      return { data: await work() };
    } catch (error) {
      if (!(error instanceof KernelError)) this.#log(error);
      return { failure: dumpFailure(error) };
    }
  }

  /**
   * @param {any} event
   * @param {unknown} call
   */
  #requireClient(event, call) {
    const client = this.#findClient(event);
    if (!client) throw forbiddenError('This page may not use the kernel.');
    if (typeof call !== 'string' || !client.calls.has(call)) {
      throw forbiddenError(`This window may not ask for ${String(call).slice(0, 80)}.`);
    }
    return client;
  }

  /** @param {any} event */
  #findClient({ sender, senderFrame: frame }) {
    const client = this.#clients.get(sender.id);
    if (!client || client.contents !== sender || !frame || frame.parent !== null) return undefined;
    return client.pages.has(pageOf(frame.url) ?? '') ? client : undefined;
  }

  #forwardEvents() {
    const forward =
      (/** @type {string} */ type) =>
      (/** @type {any} */ { owner, repoName }, /** @type {any} */ reason) => {
        if (owner instanceof WindowClient)
          owner.sendEvent({ type, repoName, ...(reason && { failure: dumpFailure(reason) }) });
      };
    for (const type of ['sessionPrepared', 'sessionCrashed', 'sessionLost']) {
      this.bridge.on(type, forward(type));
    }
    this.bridge.on('embeddingStatus', (session, message) => {
      const { owner } = session;
      const isShown = (this.#sessions.find(owner) ?? session) === session;
      if (isShown && owner instanceof WindowClient) owner.statuses.add(message);
    });
    this.bridge.on('reposChanged', () => {
      for (const client of this.#clients.values()) client.sendEvent({ type: 'reposChanged' });
    });
    this.bridge.on('state', (state, reason) => {
      const event = {
        type: 'kernelState',
        state,
        ...(reason && { failure: dumpFailure(reason) }),
      };
      for (const client of this.#clients.values()) client.sendEvent(event);
    });
  }

  /** @param {unknown} error */
  #log(error) {
    this.bridge.log.write(`[bridge] ${error instanceof Error ? error.stack : String(error)}`);
  }
}

/** @param {unknown} fields */
function checkFields(fields) {
  if (fields === undefined) return {};
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields)) {
    throw new KernelError('WRONG_PARAM', 'The fields of a request are an object.');
  }
  return /** @type {Record<string, any>} */ (fields);
}

/** @param {string} url */
function pageOf(url) {
  if (!URL.canParse(url)) return null;
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** @param {string} message */
function forbiddenError(message) {
  return new KernelError(Reason.FORBIDDEN, message);
}
