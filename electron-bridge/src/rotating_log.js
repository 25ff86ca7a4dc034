/**
 * A log file that does not grow without end: kernel-stderr.log, then .1, .2, ...
 *
 * Writing never throws and never delays the caller: a full disk costs log lines, nothing else.
 */

import { appendFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';

const MAX_FILE_BYTES = 1024 * 1024;
const OLD_FILES = 3;
/** What may wait for a slow disk; more is dropped, and the log says so. */
const MAX_PENDING_BYTES = 1024 * 1024;

export class RotatingLog {
  /** @type {string[]} */
  #waiting = [];
  #waitingBytes = 0;
  #dropped = 0;
  /** @type {number | null} */
  #size = null;
  /** @type {Promise<void> | null} */
  #writing = null;

  /**
   * @param {string} file
   * @param {{ largest?: number, keep?: number, now?: () => Date }} [options]
   */
  constructor(file, { largest = MAX_FILE_BYTES, keep = OLD_FILES, now } = {}) {
    this.file = file;
    this.largest = largest;
    this.keep = keep;
    this.now = now ?? (() => new Date());
  }

  /** @param {string} text one line, without its newline */
  write(text) {
    const line = `${this.now().toISOString()} ${text}\n`;
    if (this.#waitingBytes + line.length > MAX_PENDING_BYTES) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#writing ??= this.#drain();
  }

  /** Resolves when everything written so far is in the file, or lost to a broken disk. */
  async flush() {
    while (this.#writing) await this.#writing;
  }

  async #drain() {
    while (this.#waiting.length > 0) {
      if (this.#dropped > 0) {
        this.#waiting.push(`${this.now().toISOString()} [${this.#dropped} lines were dropped]\n`);
        this.#dropped = 0;
      }
      const text = this.#waiting.join('');
      this.#waiting = [];
      this.#waitingBytes = 0;
      try {
        await this.#append(text);
      } catch {
        this.#size = null; // there is no place to report it; read the size again next time
      }
    }
    this.#writing = null;
  }

  /** @param {string} text */
  async #append(text) {
    if (this.#size === null) {
      await mkdir(path.dirname(this.file), { recursive: true, mode: 0o700 });
      this.#size = await sizeOf(this.file);
    }
    const length = Buffer.byteLength(text);
    if (this.#size > 0 && this.#size + length > this.largest) await this.#rotate();
    await appendFile(this.file, text, { mode: 0o600 });
    this.#size += length;
  }

  async #rotate() {
    await rm(`${this.file}.${this.keep}`, { force: true });
    for (let number = this.keep - 1; number >= 0; number -= 1) {
      const from = number === 0 ? this.file : `${this.file}.${number}`;
      if ((await sizeOf(from)) > 0) await rename(from, `${this.file}.${number + 1}`);
    }
    this.#size = 0;
  }
}

/** @param {string} file */
async function sizeOf(file) {
  try {
    return (await stat(file)).size;
  } catch {
    return 0;
  }
}
