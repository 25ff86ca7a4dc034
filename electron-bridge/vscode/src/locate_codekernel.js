/** Which codekernel is started: the one of the settings, else the one that is installed. */

import { accessSync, constants, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** What a Python is called, with or without a version. */
const PYTHON = /^pythonw?[\d.]*(\.exe)?$/i;

/**
 * @typedef {{
 *   environ?: Record<string, string | undefined>,
 *   platform?: NodeJS.Platform,
 *   home?: string,
 * }} Machine
 */

/**
 * The program and its first arguments, or null if there is none; a command follows, like `serve`.
 *
 * @param {string} configured a path of the settings; empty if none is set
 * @param {Machine} [machine]
 * @returns {string[] | null}
 */
export function locateCodekernel(configured, machine = {}) {
  const { environ = process.env, platform = process.platform, home = os.homedir() } = machine;
  if (configured) return isProgram(configured) ? toCommand(configured) : null;
  const name = platform === 'win32' ? 'codekernel.exe' : 'codekernel';
  const separator = platform === 'win32' ? ';' : ':';
  const folders = (environ.PATH ?? environ.Path ?? '').split(separator).filter(path.isAbsolute);
  // Editors that were started from a desktop have a shorter PATH than a terminal.
  for (const folder of [...folders, ...usualFolders({ environ, platform, home })]) {
    const program = path.join(folder, name);
    if (isProgram(program)) return [program];
  }
  return environ.CODEKERNEL_PYTHON ? toCommand(environ.CODEKERNEL_PYTHON) : null;
}

/**
 * Where pip, pipx and uv put programs of a user.
 *
 * @param {Required<Machine>} machine
 */
function usualFolders({ environ, platform, home }) {
  const found = [path.join(home, '.local', 'bin')];
  if (platform === 'darwin') found.push('/opt/homebrew/bin', '/usr/local/bin');
  if (environ.UV_TOOL_BIN_DIR) found.unshift(environ.UV_TOOL_BIN_DIR);
  if (environ.PIPX_BIN_DIR) found.unshift(environ.PIPX_BIN_DIR);
  return found;
}

/** @param {string} program */
function toCommand(program) {
  return PYTHON.test(path.basename(program)) ? [program, '-m', 'codekernel'] : [program];
}

/** @param {string} file */
function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
