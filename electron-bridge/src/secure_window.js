/** What every window of the app has in common: no Node, no remote content, no way out. */

/**
 * Options for `new BrowserWindow`; what is given is kept, but for what makes a window safe.
 *
 * @param {{ preload: string, webPreferences?: object, [option: string]: any }} options
 */
export function secureWindow({ preload, webPreferences = {}, ...rest }) {
  return {
    ...rest,
    webPreferences: {
      ...webPreferences,
      preload,
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      experimentalFeatures: false,
      webviewTag: false,
      navigateOnDragDrop: false,
    },
  };
}

/**
 * Keep a window on its page: no navigation, no windows of its own, no webviews.
 *
 * @param {any} contents the window's webContents
 * @param {{ openExternal?: (url: string) => void }} [options]
 *   `openExternal` is offered https links that a person clicked; by default nothing happens
 */
export function guardContents(contents, { openExternal = () => {} } = {}) {
  const offer = (/** @type {string} */ url) => {
    if (protocolOf(url) === 'https:') openExternal(url);
  };
  contents.on('will-navigate', (/** @type {any} */ event) => {
    event.preventDefault();
    offer(event.url);
  });
  contents.on('will-redirect', (/** @type {any} */ event) => event.preventDefault());
  contents.on('will-attach-webview', (/** @type {any} */ event) => event.preventDefault());
  contents.setWindowOpenHandler((/** @type {{ url: string }} */ { url }) => {
    offer(url);
    return { action: 'deny' };
  });
}

/**
 * Keep an Electron session from the network and from every permission.
 *
 * @param {any} session
 * @param {{ scheme: string }} options the scheme of the app's own pages
 */
export function guardSession(session, { scheme }) {
  const ours = new Set([`${scheme}:`, 'data:', 'blob:', 'devtools:']);
  session.setPermissionRequestHandler(
    (/** @type {any} */ _contents, /** @type {any} */ _name, /** @type {Function} */ answer) =>
      answer(false),
  );
  session.setPermissionCheckHandler(() => false);
  // Its dictionaries are fetched from Google, for every session, whatever a window's own option says.
  session.setSpellCheckerEnabled(false);
  session.setSpellCheckerLanguages([]);
  session.webRequest.onBeforeRequest((/** @type {any} */ details, /** @type {Function} */ answer) =>
    answer({ cancel: !ours.has(protocolOf(details.url) ?? '') }),
  );
}

/** @param {string} url */
function protocolOf(url) {
  return URL.canParse(url) ? new URL(url).protocol : null;
}
