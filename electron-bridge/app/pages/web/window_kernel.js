/** `window.kernel` as window-kernel.d.ts declares it and preload.cjs offers it in Electron. */

import { Calls } from './calls.js';
import { lostFailure } from './failures.js';
import { CALLS, EVENTS } from './page_api.js';
import { Conversations } from './conversations.js';

/** @typedef {import('./failures.js').KernelFailure} KernelFailure */

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {any} a WindowKernel; its calls are made from the list above
 */
export function makeWindowKernel(connection) {
  const calls = new Calls(connection);
  const talks = new Conversations(connection, calls);
  /** @type {Map<string, Set<(news: any) => void>>} */
  const listeners = new Map(EVENTS.map((type) => [type, new Set()]));
  /** What this page has open, and wants to have open again after a break. */
  let repoName = '';

  const tell = (/** @type {string} */ type, /** @type {any} */ news = {}) => {
    for (const listener of listeners.get(type) ?? []) listener(news);
  };

  const openRepo = async (/** @type {{ repoName: string }} */ fields) => {
    const data = await calls.request({ call: 'openRepo', fields });
    repoName = data.repoName;
    return data;
  };

  const reopen = async () => {
    if (repoName) {
      try {
        const fields = { repoName };
        const { state } = await calls.request({ call: 'openRepo', fields }, { isFirst: true });
        if (state === 'prepared') tell('sessionPrepared');
      } catch (failure) {
        if (connection.state !== 'running') return; // it broke again, and is told again
        repoName = '';
        tell('sessionLost', { failure });
      }
    }
    if (connection.state === 'running') calls.open();
  };

  connection.onState = (state, reason) => {
    if (state === 'running') {
      reopen();
    } else if (state === 'restarting') {
      calls.interrupt();
      talks.end(lostFailure());
      if (repoName && reason) tell('sessionCrashed', { failure: reason });
    } else if (reason) {
      calls.end(reason);
      talks.end(reason);
      if (repoName) tell('sessionLost', { failure: reason });
    }
    tell('kernelState', { state, ...(reason && { failure: reason }) });
  };

  connection.onMessage = (message) => {
    if ('id' in message) calls.settle(message);
    else if ('key' in message) talks.onMessage(message);
    else if ('event' in message) tell(message.event.type, withoutType(message.event));
  };

  const offered = CALLS.map((call) => [
    call,
    (/** @type {object} */ fields) => calls.request({ call, fields }),
  ]);
  return Object.freeze({
    ...Object.fromEntries(offered),
    openRepo,
    closeRepo: () => {
      repoName = '';
      return calls.request({ call: 'closeRepo' });
    },
    converse: (/** @type {object} */ question, /** @type {(part: any) => void} */ onPart) =>
      talks.start(question, onPart),
    host: (/** @type {string} */ call, /** @type {object} */ fields) => {
      if (call === 'restartKernel') return waitUntilReachable(connection, calls);
      return calls.request({ call, fields }, { isHost: true });
    },
    on: (/** @type {string} */ type, /** @type {(news: any) => void} */ listener) => {
      const heard = listeners.get(type);
      if (!heard) throw new TypeError(`There is no event ${type}.`);
      heard.add(listener);
      return () => heard.delete(listener);
    },
  });
}

/**
 * A page cannot start codekernel again; it can see whether somebody has.
 *
 * @param {import('./connection.js').Connection} connection
 * @param {Calls} calls
 */
async function waitUntilReachable(connection, calls) {
  connection.retry();
  await calls.request({ call: 'hostInfo' });
}

/** @param {{ type: string, items?: any[], [field: string]: any }} event */
function withoutType({ type: _type, ...news }) {
  return news.items ?? news;
}
