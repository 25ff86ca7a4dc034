/** Made by scripts/make_bridge_types.py from kernel/codekernel/adapters/web/page_api.py. Do not edit. */

/** Between a window and the main process. */
export const CHANNELS = Object.freeze({
  CALL: 'codekernel:call',
  CONVERSE: 'codekernel:converse',
  STOP: 'codekernel:stop',
  READ: 'codekernel:read',
  PART: 'codekernel:part',
  EVENT: 'codekernel:event',
});

/** What the list of repositories and the settings may call. @type {readonly string[]} */
export const MAIN_PAGE_CALLS = Object.freeze([
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
]);

/** What the page of a repository may call. @type {readonly string[]} */
export const REPOSITORY_PAGE_CALLS = Object.freeze([
  'getGenerationModels',
  'getIndexes',
  'getKernelStatus',
  'getRunningTurns',
  'searchRepos',
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

/** Requests to the session of the window that calls. @type {readonly string[]} */
export const SESSION_CALLS = Object.freeze([
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

/** What the app itself answers. @type {readonly string[]} */
export const HOST_CALLS = Object.freeze([
  'hostInfo',
  'chooseFolder',
  'saveSettings',
  'openInEditor',
  'openWindow',
  'copyText',
  'showProgress',
  'restartKernel',
]);

/** Of one window at a time. */
export const MAX_CONVERSATIONS = 8;

/** That a window keeps open. */
export const MAX_REPOSITORIES = 3;

/** Statuses of files are sent together so often. */
export const STATUS_FLUSH_INTERVAL_MS = 50;

/** Of a kernel or a session that crashes. */
export const MAX_CONSECUTIVE_RESTARTS = 3;

/** A crash after so long starts the count again. */
export const STABLE_AFTER_MS = 60000;

/** For a reply. */
export const CALL_TIMEOUT_MS = 60000;

/** For a reply that takes longer. @type {Readonly<Record<string, number>>} */
export const SLOW_CALL_TIMEOUT_MS = Object.freeze({
  getChunksInfo: 600000,
  getImpact: 300000,
});

/** Of every page. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

/** Suffix of a file -> its type. @type {Readonly<Record<string, string>>} */
export const MIME_TYPES = Object.freeze({
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
});

/** Program -> its arguments, in the order of the search. @type {Readonly<Record<string, readonly string[]>>} */
export const EDITORS = Object.freeze({
  code: ['--goto', '{file}:{line}'],
  cursor: ['--goto', '{file}:{line}'],
  windsurf: ['--goto', '{file}:{line}'],
  'code-insiders': ['--goto', '{file}:{line}'],
  codium: ['--goto', '{file}:{line}'],
  zed: ['{file}:{line}'],
  zeditor: ['{file}:{line}'],
  subl: ['{file}:{line}'],
  idea: ['--line', '{line}', '{file}'],
  pycharm: ['--line', '{line}', '{file}'],
  webstorm: ['--line', '{line}', '{file}'],
  goland: ['--line', '{line}', '{file}'],
  clion: ['--line', '{line}', '{file}'],
  rustrover: ['--line', '{line}', '{file}'],
  phpstorm: ['--line', '{line}', '{file}'],
  rubymine: ['--line', '{line}', '{file}'],
  rider: ['--line', '{line}', '{file}'],
  kate: ['--line', '{line}', '{file}'],
  mate: ['--line', '{line}', '{file}'],
  bbedit: ['+{line}', '{file}'],
  gvim: ['+{line}', '{file}'],
  gedit: ['+{line}', '{file}'],
  'gnome-text-editor': ['+{line}', '{file}'],
  xed: ['+{line}', '{file}'],
  'notepad++': ['-n{line}', '{file}'],
});

/** Program -> its file on Windows, beside the folder of its .cmd. @type {Readonly<Record<string, string>>} */
export const WINDOWS_PROGRAMS = Object.freeze({
  code: 'Code.exe',
  cursor: 'Cursor.exe',
  windsurf: 'Windsurf.exe',
  'code-insiders': 'Code - Insiders.exe',
  codium: 'VSCodium.exe',
});
