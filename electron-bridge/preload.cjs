/**
 * What a page sees of the kernel: `window.kernel`, as window-kernel.d.ts declares it.
 *
 * Runs sandboxed, so it imports nothing but Electron. A page gets functions and plain values; it
 * never gets ipcRenderer, a channel's name of its own choice, or a session id.
 */

const { contextBridge, ipcRenderer } = require('electron');

// As in src/guest.js.
const CALL = 'codekernel:call';
const CONVERSE = 'codekernel:converse';
const STOP = 'codekernel:stop';
const READ = 'codekernel:read';
const PART = 'codekernel:part';
const EVENT = 'codekernel:event';

const EVENTS = [
    'embeddingStatus',
    'kernelState',
    'sessionPrepared',
    'sessionCrashed',
    'sessionLost',
];

const listeners = new Map(EVENTS.map((type) => [type, new Set()]));
const talks = new Map();
let lastKey = 0;

ipcRenderer.on(EVENT, (_event, { type, ...news }) => {
    for (const listener of listeners.get(type) ?? []) listener(news.items ?? news);
});

ipcRenderer.on(PART, (_event, { key, part, isEnd, failure }) => {
    const talk = talks.get(key);
    if (isEnd) {
        talks.delete(key);
        if (failure) talk?.reject(failure);
        else talk?.resolve();
        return;
    }
    try {
        talk?.onPart(part);
    } finally {
        ipcRenderer.send(READ, key); // whatever the page made of it, it has taken it
    }
});

/** Failures are plain objects: an Error that crosses the context bridge loses its code. */
async function unpacked(reply) {
    const { data, failure } = await reply;
    if (failure) throw failure;
    return data;
}

const call = (name) => (fields) => unpacked(ipcRenderer.invoke(CALL, name, fields));

function converse(question, onPart) {
    lastKey += 1;
    const key = lastKey;
    const finished = new Promise((resolve, reject) => {
        talks.set(key, { onPart, resolve, reject });
        unpacked(ipcRenderer.invoke(CONVERSE, key, question)).catch((failure) => {
            talks.delete(key);
            reject(failure);
        });
    });
    return { finished, stop: () => ipcRenderer.send(STOP, key) };
}

function on(type, listener) {
    const heard = listeners.get(type);
    if (!heard) throw new TypeError(`There is no event ${type}.`);
    heard.add(listener);
    return () => heard.delete(listener);
}

contextBridge.exposeInMainWorld('kernel', {
    getRepos: call('getRepos'),
    createRepo: call('createRepo'),
    deleteRepo: call('deleteRepo'),
    openRepo: call('openRepo'),
    closeRepo: call('closeRepo'),
    search: call('search'),
    getChunksInfo: call('getChunksInfo'),
    getIndexStatus: call('getIndexStatus'),
    pauseIndexing: call('pauseIndexing'),
    getSkippedFiles: call('getSkippedFiles'),
    readLines: call('readLines'),
    getApiUsage: call('getApiUsage'),
    getConversations: call('getConversations'),
    getConversation: call('getConversation'),
    deleteConversation: call('deleteConversation'),
    answerPermission: call('answerPermission'),
    undoAgentTurn: call('undoAgentTurn'),
    getSettings: call('getSettings'),
    checkSettings: call('checkSettings'),
    updateSettings: call('updateSettings'),
    getModels: call('getModels'),
    getGenerationModels: call('getGenerationModels'),
    getAvailableHardware: call('getAvailableHardware'),
    setApiKey: call('setApiKey'),
    hasApiKey: call('hasApiKey'),
    testApi: call('testApi'),
    host: (name, fields) => unpacked(ipcRenderer.invoke(CALL, name, fields)),
    converse,
    on,
});
