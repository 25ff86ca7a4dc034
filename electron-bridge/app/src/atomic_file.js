/** Files that are there whole or not at all, whatever happens meanwhile. */

import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';

/** Settings name endpoints and folders of the user; other accounts need not read them. */
const PRIVATE = 0o600;
const PRIVATE_FOLDER = 0o700;

let written = 0;

/**
 * @param {string} file
 * @param {string} text
 */
export async function writeAtomically(file, text) {
  await mkdir(path.dirname(file), { recursive: true, mode: PRIVATE_FOLDER });
  written += 1;
  const draft = `${file}.${process.pid}-${written}.tmp`;
  try {
    const handle = await open(draft, 'wx', PRIVATE);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
