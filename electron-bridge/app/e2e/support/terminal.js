/** A terminal beside the app, and the kernel that both share. */

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { PROJECT, python } from './programs.js';

const execute = promisify(execFile);

/**
 * Run `codekernel` in the folder; what it printed.
 *
 * @param {import('./workspace.js').Workspace} place
 * @param {string} folder
 * @param {...string} words
 */
export async function codekernel(place, folder, ...words) {
  const environ = { ...place.environ, PYTHONPATH: path.join(PROJECT, 'kernel') };
  const { stdout } = await execute(python(), ['-m', 'codekernel', ...words], {
    cwd: folder,
    env: /** @type {any} */ (environ),
  });
  return stdout;
}

/** @param {import('./workspace.js').Workspace} place */
export async function kernelStatus(place) {
  return JSON.parse(await codekernel(place, place.folder, 'status', '--json'));
}

/**
 * End the kernels that serve a folder; they would wait ten minutes for another client.
 *
 * @param {string} folder of a story, which is about to be removed
 */
export function killKernels(folder) {
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      const place = words[words.indexOf('--user-data') + 1];
      if (words.includes('kernel') && place.startsWith(`${folder}/`)) process.kill(Number(name));
    } catch {
      // it has ended meanwhile
    }
  }
}
