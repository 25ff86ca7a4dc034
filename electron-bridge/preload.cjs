/**
 * What a page sees of the kernel: `window.kernel`, as window-kernel.d.ts declares it.
 *
 * Runs sandboxed, so it imports nothing but Electron. A page gets functions and plain values; it
 * never gets ipcRenderer, a channel's name of its own choice, or a session id.
 */

const { contextBridge, ipcRenderer } = require('electron');

// Made by scripts/make_bridge_types.py from kernel/codekernel/adapters/web/page_api.py. Do not edit.
const CHANNELS = {
  CALL: 'codekernel:call',
  CONVERSE: 'codekernel:converse',
  STOP: 'codekernel:stop',
  READ: 'codekernel:read',
  PART: 'codekernel:part',
  EVENT: 'codekernel:event',
};
const CALLS = [
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
];
const EVENTS = [
  'embeddingStatus',
  'kernelState',
  'placeRequested',
  'reposChanged',
  'sessionPrepared',
  'sessionCrashed',
  'sessionLost',
];
// End of what is made.

const listeners = new Map(EVENTS.map((type) => [type, new Set()]));
const conversations = new Map();
let lastKey = 0;

ipcRenderer.on(CHANNELS.EVENT, (_event, { type, ...fields }) => {
  for (const listener of listeners.get(type) ?? []) listener(fields.items ?? fields);
});

ipcRenderer.on(CHANNELS.PART, (_event, { key, part, isEnd, failure }) => {
  const conversation = conversations.get(key);
  if (isEnd) {
    conversations.delete(key);
    if (failure) conversation?.reject(failure);
    else conversation?.resolve();
    return;
  }
  try {
    conversation?.onPart(part);
  } finally {
    ipcRenderer.send(CHANNELS.READ, key); // whatever the page made of it, it has taken it
  }
});

/** Failures are plain objects: an Error that crosses the context bridge loses its code. */
async function unpacked(reply) {
  const { data, failure } = await reply;
  if (failure) throw failure;
  return data;
}

const call = (name) => (fields) => unpacked(ipcRenderer.invoke(CHANNELS.CALL, name, fields));

function converse(question, onPart) {
  lastKey += 1;
  const key = lastKey;
  const finished = new Promise((resolve, reject) => {
    conversations.set(key, { onPart, resolve, reject });
    unpacked(ipcRenderer.invoke(CHANNELS.CONVERSE, key, question)).catch((failure) => {
      conversations.delete(key);
      reject(failure);
    });
  });
  return { finished, stop: () => ipcRenderer.send(CHANNELS.STOP, key) };
}

function on(type, listener) {
  const registered = listeners.get(type);
  if (!registered) throw new TypeError(`There is no event ${type}.`);
  registered.add(listener);
  return () => registered.delete(listener);
}

contextBridge.exposeInMainWorld('kernel', {
  ...Object.fromEntries(CALLS.map((name) => [name, call(name)])),
  host: (name, fields) => unpacked(ipcRenderer.invoke(CHANNELS.CALL, name, fields)),
  converse,
  on,
});
