/**
 * Which kernel to run, and in which environment.
 *
 * In this order: the command that was given; CODEKERNEL_PYTHON, an interpreter that has the kernel;
 * the executable that was packaged with the app; the virtual environment of the project.
 */

import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { KernelError, Reason } from './errors.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
/** The folder above this package: the kernel's project, if the package lies in it. */
const PROJECT = path.resolve(HERE, '..', '..');
const SERVE = ['-m', 'codekernel', 'serve'];
/** What scripts/dist.py makes; on Windows a script cannot be started like a program. */
const PACKAGED = { command: ['codekernel'], args: ['serve'] };
const PACKAGED_ON_WINDOWS = { command: ['python', 'python.exe'], args: ['-I', ...SERVE] };

/** Meant for Electron, or for another Python than the one we start. */
const REMOVED_VARIABLES = ['ELECTRON_RUN_AS_NODE', 'NODE_OPTIONS', 'PYTHONHOME', 'PYTHONSTARTUP'];

/** @typedef {{ command: string, args: string[], cwd: string, how: string }} Located */

/**
 * @param {{
 *   command?: string[],
 *   resourcesPath?: string,
 *   project?: string,
 *   environ?: Record<string, string | undefined>,
 *   platform?: NodeJS.Platform,
 * }} [options] `resourcesPath` is Electron's `process.resourcesPath`
 * @returns {Located}
 */
export function locateKernel({
  command,
  resourcesPath,
  project = PROJECT,
  environ = process.env,
  platform = process.platform,
} = {}) {
  if (command) return given(command);
  if (environ.CODEKERNEL_PYTHON) return named(environ.CODEKERNEL_PYTHON, project);
  const isWindows = platform === 'win32';
  const looked = [];
  if (resourcesPath) {
    const folder = path.join(resourcesPath, 'kernel');
    const { command: words, args } = isWindows ? PACKAGED_ON_WINDOWS : PACKAGED;
    const bundled = path.join(folder, ...words);
    if (isRunnable(bundled)) return { command: bundled, args, cwd: folder, how: 'bundled' };
    looked.push(bundled);
  }
  const inVenv = isWindows ? ['Scripts', 'python.exe'] : ['bin', 'python'];
  const python = path.join(project, '.venv', ...inVenv);
  if (isRunnable(python)) return { command: python, args: SERVE, cwd: project, how: 'project' };
  looked.push(python);
  throw new KernelError(
    Reason.KERNEL_NOT_FOUND,
    `No kernel was found; looked for ${looked.join(' and ')}. ` +
      'Set CODEKERNEL_PYTHON to a Python that has codekernel installed.',
  );
}

/**
 * The kernel's environment: ours, and the place of userData in both of its names.
 *
 * @param {string} userData
 * @param {Record<string, string | undefined>} [environ]
 * @returns {Record<string, string | undefined>}
 */
export function kernelEnvironment(userData, environ = process.env) {
  const kept = Object.entries(environ).filter(
    ([name]) => !REMOVED_VARIABLES.includes(name.toUpperCase()),
  );
  return {
    ...Object.fromEntries(kept),
    ORT_DISABLE_TELEMETRY: '1', // the kernel says so too, whatever it is given
    CODEKERNEL_USER_DATA: userData,
    POCKETRAG_USERDATA_PATH: userData,
  };
}

/**
 * @param {string[]} command
 * @returns {Located}
 */
function given([command, ...args]) {
  return { command, args, cwd: process.cwd(), how: 'given' };
}

/**
 * @param {string} python a path, or a name for PATH
 * @param {string} project
 * @returns {Located}
 */
function named(python, project) {
  if (path.basename(python) !== python && !isRunnable(python)) {
    throw new KernelError(
      Reason.KERNEL_NOT_FOUND,
      `CODEKERNEL_PYTHON is ${python}, which cannot be run. Correct it or unset it.`,
    );
  }
  // From its own folder the project's kernel can be imported without being installed.
  const sources = path.join(project, 'kernel');
  const cwd = existsSync(path.join(sources, 'codekernel')) ? sources : process.cwd();
  return { command: python, args: SERVE, cwd, how: 'CODEKERNEL_PYTHON' };
}

/** @param {string} file */
function isRunnable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
