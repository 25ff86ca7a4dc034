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
  const conversations = new Conversations(connection, calls);
  /** @type {Map<string, Set<(fields: any) => void>>} */
  const listeners = new Map(EVENTS.map((type) => [type, new Set()]));
  /** What this page has open, and wants to have open again after a break. */
  let repoName = '';

  const emit = (/** @type {string} */ type, /** @type {any} */ fields = {}) => {
    for (const listener of listeners.get(type) ?? []) listener(fields);
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
        if (state === 'prepared') emit('sessionPrepared', { repoName });
      } catch (failure) {
        if (connection.state !== 'running') return; // it broke again, and is reported again
        const lost = repoName;
        repoName = '';
        emit('sessionLost', { repoName: lost, failure });
      }
    }
    if (connection.state === 'running') calls.open();
  };

  connection.onState = (state, reason) => {
    if (state === 'running') {
      reopen();
    } else if (state === 'restarting') {
      calls.interrupt();
      conversations.end(lostFailure());
      if (repoName && reason) emit('sessionCrashed', { repoName, failure: reason });
    } else if (reason) {
      calls.end(reason);
      conversations.end(reason);
      if (repoName) emit('sessionLost', { repoName, failure: reason });
    }
    emit('kernelState', { state, ...(reason && { failure: reason }) });
  };

  connection.onMessage = (message) => {
    if ('id' in message) calls.settle(message);
    else if ('key' in message) conversations.onMessage(message);
    else if ('event' in message) emit(message.event.type, withoutType(message.event));
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
      conversations.start(question, onPart),
    host: (/** @type {string} */ call, /** @type {object} */ fields) => {
      if (call === 'restartKernel') return waitUntilReachable(connection, calls);
      return calls.request({ call, fields }, { isHost: true });
    },
    on: (/** @type {string} */ type, /** @type {(fields: any) => void} */ listener) => {
      const registered = listeners.get(type);
      if (!registered) throw new TypeError(`There is no event ${type}.`);
      registered.add(listener);
      return () => registered.delete(listener);
    },
  });
}

/**
 * A page cannot start codekernel; it can check whether it runs again.
 *
 * @param {import('./connection.js').Connection} connection
 * @param {Calls} calls
 */
async function waitUntilReachable(connection, calls) {
  connection.retry();
  await calls.request({ call: 'hostInfo' });
}

/** @param {{ type: string, items?: any[], [field: string]: any }} event */
function withoutType({ type: _type, ...fields }) {
  return fields.items ?? fields;
}
