/** Programs of this machine: where they are, and how to start one that outlives us. */

import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

import { WINDOWS_PROGRAMS } from '../../src/page_api.js';

/** Meant for us, and harmful to another app made with Electron. */
const PRIVATE_VARIABLES = /^(ELECTRON_|CODEKERNEL_|CHROME_|NODE_OPTIONS$)/;

/**
 * @param {{ environ: Record<string, string | undefined>, platform: NodeJS.Platform }} machine
 * @param {(file: string) => boolean} [canRun]
 * @returns {import('./editors.js').ProgramFinder}
 */
export function makeProgramFinder({ environ, platform }, canRun = isExecutable) {
  const paths = platform === 'win32' ? path.win32 : path.posix;
  // A relative folder in PATH is the repository's to choose, if we were started there.
  const folders = (environ.PATH ?? environ.Path ?? '')
    .split(paths.delimiter)
    .filter((folder) => paths.isAbsolute(folder));
  return (program) => {
    const places = paths.isAbsolute(program)
      ? [program]
      : folders.flatMap((folder) =>
          listFileNames(program, platform).map((name) => paths.join(folder, name)),
        );
    return places.find(canRun) ?? null;
  };
}

/**
 * Start a program and let it be; rejects if it cannot be started.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {Record<string, string | undefined>} [environ]
 * @returns {Promise<void>}
 */
export function launchDetached(program, args, environ = process.env) {
  const env = Object.fromEntries(
    Object.entries(environ).filter(([name]) => !PRIVATE_VARIABLES.test(name)),
  );
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: 'ignore', detached: true });
    child.once('error', reject);
    child.once('spawn', () => {
      child.unref();
      resolve();
    });
  });
}

/**
 * What a program's file may be called in, or beside, a folder of PATH.
 *
 * @param {string} program
 * @param {NodeJS.Platform} platform
 */
function listFileNames(program, platform) {
  if (platform !== 'win32') return [program];
  const beside = WINDOWS_PROGRAMS[program];
  const own = /\.exe$/i.test(program) ? program : `${program}.exe`;
  return beside ? [own, `..\\${beside}`] : [own];
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
