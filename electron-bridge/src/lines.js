/**
 * Chunks of a pipe -> whole lines of text.
 *
 * Bytes are joined before they are decoded, so a character that straddles two chunks stays whole.
 * A line that is too long is thrown away while it arrives; only its head is kept, from which one
 * can still tell whose answer it was.
 */

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Enough for the envelope's first four fields, which come before anything of any length. */
const HEAD_BYTES = 512;

/**
 * getChunksInfo answers in one line however large the repository is. V8 holds strings of up to
 * 512 MiB; half of that leaves room for what JSON.parse makes of it.
 */
export const MAX_LINE_BYTES = 256 * 1024 * 1024;

/** Collects the bytes of lines; tells its owner of each line that is complete. */
export class LineDecoder {
  /** @type {Buffer[]} */
  #pieces = [];
  #size = 0;
  #isTooLong = false;

  /**
   * @param {{
   *   onLine: (text: string) => void,
   *   onTooLong?: (head: string) => void,
   *   limit?: number,
   * }} options
   */
  constructor({ onLine, onTooLong = () => {}, limit = MAX_LINE_BYTES }) {
    this.onLine = onLine;
    this.onTooLong = onTooLong;
    this.limit = limit;
  }

  /** @param {Buffer} chunk */
  push(chunk) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      this.#add(chunk.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
    if (start < chunk.length) this.#add(chunk.subarray(start));
  }

  /** The pipe is closed: what never got its newline is a line that was cut off, and returned. */
  end() {
    const rest = this.#isTooLong ? '' : text(this.#pieces);
    this.#clear();
    return rest;
  }

  /** @param {Buffer} piece */
  #add(piece) {
    if (this.#isTooLong || piece.length === 0) return;
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size > this.limit) {
      const head = Buffer.concat(this.#pieces).subarray(0, HEAD_BYTES);
      this.#pieces = [];
      this.#isTooLong = true;
      this.onTooLong(head.toString('utf8'));
    }
  }

  #finish() {
    const pieces = this.#pieces;
    const isWhole = !this.#isTooLong;
    this.#clear();
    if (isWhole && pieces.length > 0) {
      const line = text(pieces);
      if (line !== '') this.onLine(line);
    }
  }

  #clear() {
    this.#pieces = [];
    this.#size = 0;
    this.#isTooLong = false;
  }
}

/** @param {Buffer[]} pieces */
function text(pieces) {
  const whole = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
  const end = whole.at(-1) === CARRIAGE_RETURN ? whole.length - 1 : whole.length;
  return whole.toString('utf8', 0, end);
}
