/** The package's front door. Nothing here imports Electron: its parts are handed in. */

export { KernelBridge } from './bridge.js';
export { KernelError, Reason } from './errors.js';
export { KernelDoor } from './ipc.js';
export { kernelEnvironment, locateKernel } from './locate.js';
export { goOffline, OFFLINE_SWITCHES } from './offline.js';
export { pageResponse, PAGES_SCHEME, privilegedScheme, servePages } from './pages.js';
export { RepoSession } from './repo_session.js';
export {
  CONTENT_SECURITY_POLICY,
  guardContents,
  guardSession,
  secureWindow,
} from './secure_window.js';
export { HOUSE_CALLS, REPOSITORY_CALLS } from './window_calls.js';
