/** A screen that nobody looks at, where there is none. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

const SCREEN = '1600x1000x24';

/**
 * The name of a display: the one we are in, or a new one for the length of a test.
 *
 * @param {import('node:test').TestContext} t
 */
export async function ensureDisplay(t) {
  if (process.env.DISPLAY) return process.env.DISPLAY;
  const words = ['-displayfd', '3', '-screen', '0', SCREEN, '-nolisten', 'tcp', '-noreset'];
  const server = spawn('Xvfb', words, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  t.after(async () => {
    if (server.exitCode === null && server.kill()) await once(server, 'exit');
  });
  const [number] = await Promise.race([
    once(/** @type {import('node:stream').Readable} */ (server.stdio[3]), 'data'),
    once(server, 'exit').then(() => {
      throw new Error('Xvfb ended before it had a display.');
    }),
  ]);
  return `:${String(number).trim()}`;
}
