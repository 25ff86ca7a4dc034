/** Made by scripts/make_bridge_types.py from kernel/codekernel/adapters/web/page_api.py. Do not edit. */

/** The calls of `window.kernel`. @type {readonly string[]} */
export const CALLS = Object.freeze([
  'getRepos',
  'createRepo',
  'registerFolder',
  'deleteRepo',
  'listFolders',
  'previewFolder',
  'getSettings',
  'checkSettings',
  'updateSettings',
  'getModels',
  'getAvailableHardware',
  'setApiKey',
  'testApi',
  'getModelPresets',
  'listEndpointModels',
  'findLocalServers',
  'getGenerationModels',
  'getIndexes',
  'getKernelStatus',
  'getRunningTurns',
  'searchRepos',
  'hasApiKey',
  'openRepo',
  'closeRepo',
  'converse',
  'search',
  'findNames',
  'getCalls',
  'getImpact',
  'getLineHistory',
  'getChunksInfo',
  'getIndexStatus',
  'allowEndpoint',
  'getIndexMap',
  'pauseIndexing',
  'getSkippedFiles',
  'readLines',
  'getApiUsage',
  'getConversations',
  'getConversation',
  'deleteConversation',
  'answerPermission',
  'undoAgentTurn',
  'getPermissionRules',
  'deletePermissionRule',
  'forkConversation',
]);

/** What `window.kernel.on` takes. @type {readonly string[]} */
export const EVENTS = Object.freeze([
  'embeddingStatus',
  'kernelState',
  'placeRequested',
  'reposChanged',
  'sessionPrepared',
  'sessionCrashed',
  'sessionLost',
]);

/** For a reply. */
export const CALL_TIMEOUT_SECONDS = 60;

/** For a reply that takes longer. @type {Readonly<Record<string, number>>} */
export const SLOW_CALL_TIMEOUT_SECONDS = Object.freeze({
  getChunksInfo: 600,
  getImpact: 300,
});
