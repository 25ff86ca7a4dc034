/** Carry out what a page calls. */

import { SESSION_CALLS } from './page_api.js';

/**
 * @param {import('./bridge.js').KernelBridge} bridge
 * @param {import('./window_sessions.js').WindowSessions} sessions
 * @param {unknown} owner the window that asks
 * @param {string} call
 * @param {Record<string, any>} fields
 * @returns {Promise<any>}
 */
export async function carryOut(bridge, sessions, owner, call, fields) {
  if (SESSION_CALLS.includes(call)) {
    const session = await sessions.get(owner);
    return session.request(call, fields);
  }
  switch (call) {
    case 'openRepo':
      return sessions.open(owner, fields.repoName);
    case 'closeRepo':
      return sessions.close(owner);
    case 'hasApiKey':
      return hasApiKey(bridge, fields.name);
    default:
      return bridge.request(call, fields);
  }
}

/**
 * @param {import('./bridge.js').KernelBridge} bridge
 * @param {string} name
 */
async function hasApiKey(bridge, name) {
  try {
    await bridge.request('getApiKey', { name });
    return true;
  } catch (error) {
    if (/** @type {any} */ (error).code === 'API_KEY_NOT_FOUND') return false;
    throw error;
  }
}
