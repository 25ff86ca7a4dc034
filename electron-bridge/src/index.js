/** What the package exports. Nothing here imports Electron: its parts are passed in. */

export { KernelBridge } from './bridge.js';
export { KernelError, Reason } from './errors.js';
export { KernelIpc } from './ipc.js';
export { kernelEnvironment, locateKernel } from './locate.js';
export { goOffline, OFFLINE_SWITCHES } from './offline.js';
export { CONTENT_SECURITY_POLICY, MAIN_PAGE_CALLS, REPOSITORY_PAGE_CALLS } from './page_api.js';
export { pageResponse, PAGES_SCHEME, privilegedScheme, servePages } from './pages.js';
export { RepoSession } from './repo_session.js';
export { guardContents, guardSession, secureWindow } from './secure_window.js';
export { locateUserData } from './user_data.js';
