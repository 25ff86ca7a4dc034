/** Open a file of a repository in the user's editor at a line; nothing outside the repository. */

import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';

import { KernelError } from '../../src/index.js';
import { EDITORS } from '../../src/page_api.js';
import { findEditorCommand } from './editors.js';
import { makeProgramFinder, launchDetached } from './programs.js';
import { findTextOpener } from './text_opener.js';

/**
 * @typedef {{ environ: Record<string, string | undefined>, platform: NodeJS.Platform }} Machine
 * @typedef {(program: string, args: string[], environ: Record<string, string | undefined>) => Promise<void>} Launch
 */

/**
 * @param {string} root the repository's folder
 * @param {{ filePath?: unknown, line?: unknown }} place `line` counts from 1
 * @param {{ machine?: Machine, start?: Launch }} [options]
 * @returns {Promise<{ editor: string }>}
 */
export async function openInEditor(
  root,
  { filePath, line = 1 },
  { machine = { environ: process.env, platform: process.platform }, start = launchDetached } = {},
) {
  const file = await resolveFileInside(root, filePath);
  const number = Number.isSafeInteger(line) && Number(line) > 0 ? Number(line) : 1;
  const find = makeProgramFinder(machine);
  const command =
    findEditorCommand(file, number, { ...machine, find }) ??
    (await findTextOpener(file, { ...machine, find }));
  if (!command) {
    const looked = Object.keys(EDITORS).join(', ');
    throw new KernelError(
      'INVALID_PATH',
      `No editor was found; looked for ${looked}. Set CODEKERNEL_EDITOR to the command of yours.`,
    );
  }
  try {
    await start(command.program, command.args, machine.environ);
  } catch (error) {
    const why = /** @type {Error} */ (error).message;
    throw new KernelError('INVALID_PATH', `${command.editor} cannot be started: ${why}`);
  }
  return { editor: command.editor };
}

/** Whether there is a program to open a file in; pages show a button only then. */
export async function canOpenEditor(
  machine = /** @type {Machine} */ ({ environ: process.env, platform: process.platform }),
) {
  const find = makeProgramFinder(machine);
  const file = path.resolve('any.txt');
  return Boolean(
    findEditorCommand(file, 1, { ...machine, find }) ??
    (await findTextOpener(file, { ...machine, find })),
  );
}

/**
 * The file's real place, which is inside the repository's; links are followed first.
 *
 * @param {string} root
 * @param {unknown} filePath relative to it, with slashes
 */
async function resolveFileInside(root, filePath) {
  if (typeof filePath !== 'string' || filePath === '' || filePath.includes('\0')) {
    throw new KernelError('WRONG_PARAM', 'openInEditor needs the filePath of a file.');
  }
  let folder, file;
  try {
    folder = await realpath(root);
    file = await realpath(path.resolve(folder, filePath));
  } catch {
    throw new KernelError('INVALID_PATH', `${filePath} is not there any more.`);
  }
  const inside = path.relative(folder, file);
  if (
    inside === '' ||
    inside === '..' ||
    inside.startsWith(`..${path.sep}`) ||
    path.isAbsolute(inside)
  ) {
    throw new KernelError('INVALID_PATH', `${filePath} is not inside the repository.`);
  }
  if (!(await stat(file)).isFile()) {
    throw new KernelError('INVALID_PATH', `${filePath} is not a file.`);
  }
  return file;
}
