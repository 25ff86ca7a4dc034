/**
 * `window.kernel` in a browser, over a WebSocket to `codekernel web`; in Electron the preload has
 * defined it already, and this does nothing. Every page loads it first.
 */

import { Connection } from './web/connection.js';
import { onNewSecret, subprotocols } from './web/page_secret.js';
import { makeWindowKernel } from './web/window_kernel.js';

if (!window.kernel) {
  const connection = new Connection(`ws://${location.host}/kernel`, subprotocols);
  window.kernel = makeWindowKernel(connection);
  onNewSecret(() => connection.renew());
  connection.start();
}
