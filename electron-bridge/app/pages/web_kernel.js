/**
 * `window.kernel` in a browser, over a WebSocket to `codekernel web`; in Electron the preload has
 * defined it already, and this does nothing. Every page loads it first.
 */

import { Connection } from './web/connection.js';
import { windowKernel } from './web/window_kernel.js';

if (!window.kernel) {
  const connection = new Connection(`ws://${location.host}/kernel`);
  window.kernel = windowKernel(connection);
  connection.start();
}
