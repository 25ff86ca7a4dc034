/** New settings, as the protocol wants them: written beside the old ones, checked, moved, used. */

import { readFile, realpath, rm } from 'node:fs/promises';
import path from 'node:path';

import { KernelError } from '../../src/index.js';
import { writeAtomically } from './atomic_file.js';

/** Of programs that save at the same moment, each in turn is the only one left. */
const MAX_ATTEMPTS = 10;

/** @typedef {{ request(type: string): Promise<any> }} Kernel */

export class SettingsSaver {
  /** @type {Promise<unknown>} Two windows may save at once; there is one settings-modified.json. */
  #last = Promise.resolve();

  /**
   * @param {Kernel} kernel
   * @param {string} userData
   */
  constructor(kernel, userData) {
    this.kernel = kernel;
    this.modified = path.join(userData, 'settings-modified.json');
    this.settings = path.join(userData, 'settings.json');
  }

  /**
   * A failure is the kernel's, and then settings.json is what it was.
   *
   * @param {unknown} settings
   */
  save(settings) {
    const saved = this.#last.then(() => this.#save(settings));
    this.#last = saved.catch(() => {});
    return saved;
  }

  /** @param {unknown} settings */
  async #save(settings) {
    if (settings === null || typeof settings !== 'object' || Array.isArray(settings)) {
      throw new KernelError('WRONG_PARAM', 'Settings are an object.');
    }
    const text = `${JSON.stringify(settings, null, 2)}\n`;
    try {
      await this.#check(text);
      // Written, not renamed: a settings.json that is a link stays one.
      const target = await realpath(this.settings).catch(() => this.settings);
      await explainWriteError(this.settings, () => writeAtomically(target, text));
    } finally {
      await rm(this.modified, { force: true }).catch(() => {}); // a folder in its place stays
    }
    await this.kernel.request('updateSettings');
  }

  /**
   * Have the kernel check these settings, and not those of another program: a browser tab may save
   * at the same time, to the same file.
   *
   * @param {string} text
   */
  async #check(text) {
    for (let attempt = 1; ; attempt += 1) {
      await explainWriteError(this.modified, () => writeAtomically(this.modified, text));
      const failure = await this.kernel.request('checkSettings').catch((error) => error);
      const checked = await readFile(this.modified, 'utf8').catch(() => null);
      if (checked === text || attempt === MAX_ATTEMPTS) {
        if (failure instanceof Error) throw failure;
        return;
      }
    }
  }
}

/**
 * @param {string} file
 * @param {() => Promise<void>} work
 */
async function explainWriteError(file, work) {
  try {
    await work();
  } catch (error) {
    const why = /** @type {NodeJS.ErrnoException} */ (error).code ?? String(error);
    const message = `${file} cannot be written (${why}). Is the disk full, or the folder read-only?`;
    throw new KernelError('INVALID_PATH', message, { cause: error });
  }
}
