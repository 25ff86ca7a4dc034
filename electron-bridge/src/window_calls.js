/** What a page may ask for, by kind of window. Anything else stays in the main process. */

/** Settings, keys, the list of repositories. Never getApiKey: a page needs no key back. */
export const HOUSE_CALLS = Object.freeze([
  'getRepos',
  'createRepo',
  'deleteRepo',
  'getSettings',
  'checkSettings',
  'updateSettings',
  'getModels',
  'getGenerationModels',
  'getAvailableHardware',
  'setApiKey',
  'hasApiKey',
  'testApi',
]);

const SESSION_CALLS = Object.freeze([
  'search',
  'getChunksInfo',
  'getIndexStatus',
  'pauseIndexing',
  'getSkippedFiles',
  'readLines',
  'getApiUsage',
  'getConversations',
  'getConversation',
  'deleteConversation',
  'answerPermission',
  'undoAgentTurn',
]);

/** One repository. Which session is meant is known from the window, never from the page. */
export const REPOSITORY_CALLS = Object.freeze([
  'getGenerationModels',
  'openRepo',
  'closeRepo',
  ...SESSION_CALLS,
  'converse',
]);

/**
 * @param {import('./bridge.js').KernelBridge} bridge
 * @param {import('./window_sessions.js').WindowSessions} sessions
 * @param {unknown} owner the window that asks
 * @param {string} call
 * @param {Record<string, any>} fields
 * @returns {Promise<any>}
 */
export async function carryOut(bridge, sessions, owner, call, fields) {
  if (SESSION_CALLS.includes(call)) return sessions.of(owner).request(call, fields);
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
