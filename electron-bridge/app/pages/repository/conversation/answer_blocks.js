/**
 * A growing Markdown text as blocks: those that are finished, once, and the rest, as it is now.
 *
 * Only the rest is read again when text is added, and it never gets long: what would is cut where
 * it hurts least. So a piece costs the same after a hundred thousand tokens as at the beginning.
 */

import { Lexer } from '../../vendor/marked/marked.esm.js';
import { findCut, isTangled, openFence, tableHead } from './block_cuts.js';

/** Characters of a block that is read again and again; beyond, it is cut. */
export const MAX_REST_CHARS = 2_000;
/** A block that offers no good place to be cut is cut all the same. */
export const MAX_UNCUT_CHARS = 12_000;
/** Text is taken in such steps, so that the rest stays short in a flood, too. */
export const STEP = 1_000;
/** Lines of code that are coloured together, and again with each piece while they are the last. */
export const CODE_PAGE = 40;

/**
 * @typedef {{ kind: 'tokens', tokens: any[], isContinued: boolean }} TokensBlock
 * @typedef {{ kind: 'text', text: string }} TextBlock what is shown as it is written
 * @typedef {{ language: string, pages: string[], last: string }} Code over all its pages
 * @typedef {{ kind: 'code', code: Code, text: string, isFirst: boolean, isLast: boolean }} CodeBlock
 * @typedef {TokensBlock | TextBlock | CodeBlock} Block
 */

export class AnswerBlocks {
  #rest = '';
  /** @type {import('./block_cuts.js').Fence | null} */
  #fence = null;
  /** @type {Code | null} */
  #code = null;
  /** What the rest of a table that was cut begins with; it was shown before. */
  #head = '';
  /** @type {Block[]} */
  #finished = [];

  /** @param {string} text at most STEP characters at a time cost least */
  add(text) {
    this.#rest += text;
    while (this.#advance());
  }

  /** There is no more: the rest is finished. */
  end() {
    this.#finished.push(...this.rest());
    this.#rest = '';
    this.#head = '';
    this.#fence = null;
    this.#code = null;
  }

  /** @returns {Block[]} what was finished since the last time */
  taken() {
    const blocks = this.#finished;
    this.#finished = [];
    return blocks;
  }

  /** @returns {Block[]} what may still change */
  rest() {
    const code = this.#code;
    if (!code) return this.#isWorthShowing(this.#rest) ? [this.#block(this.#rest)] : [];
    const isFirst = code.pages.length === 0;
    const text = this.#rest.replace(this.#fence?.closingAtEnd ?? '', '');
    code.last = text;
    return text || isFirst ? [{ kind: 'code', code, text, isFirst, isLast: true }] : [];
  }

  /** @returns {boolean} whether it took something off the rest */
  #advance() {
    if (this.#code && this.#fence) return this.#advanceCode(this.#code, this.#fence);
    const opened = openFence(this.#rest);
    if (opened) {
      this.#rest = this.#rest.slice(opened.length);
      this.#fence = opened;
      this.#code = { language: opened.language, pages: [], last: '' };
      this.#head = '';
      return true;
    }
    return this.#advanceText();
  }

  /**
   * @param {Code} code
   * @param {import('./block_cuts.js').Fence} fence
   */
  #advanceCode(code, fence) {
    const closing = fence.closing.exec(this.#rest);
    const text = closing ? this.#rest.slice(0, closing.index) : this.#rest;
    const lines = text.split('\n');
    if (lines.length > CODE_PAGE + 1) {
      const page = `${lines.slice(0, CODE_PAGE).join('\n')}\n`;
      this.#finishPage(code, page, false);
      this.#rest = this.#rest.slice(page.length);
      return true;
    }
    if (!closing) {
      if (this.#rest.length <= MAX_UNCUT_CHARS) return false;
      const end = this.#rest.lastIndexOf('\n') + 1 || this.#rest.length;
      this.#finishPage(code, this.#rest.slice(0, end), false);
      this.#rest = this.#rest.slice(end);
      return false;
    }
    this.#finishPage(code, text, true);
    this.#rest = this.#rest.slice(closing.index + closing[0].length);
    this.#code = null;
    this.#fence = null;
    return this.#rest !== '';
  }

  /**
   * @param {Code} code
   * @param {string} text
   * @param {boolean} isLast
   */
  #finishPage(code, text, isLast) {
    const isFirst = code.pages.length === 0;
    code.pages.push(text);
    code.last = '';
    this.#finished.push({ kind: 'code', code, text, isFirst, isLast });
  }

  #advanceText() {
    const rest = this.#rest;
    if (isTangled(rest)) {
      const end = rest.lastIndexOf('\n') + 1 || rest.length;
      this.#finished.push({ kind: 'text', text: rest.slice(0, end) });
      this.#rest = rest.slice(end);
      return false;
    }
    const tokens = tokensOf(rest);
    if (!tokens) return rest.length > MAX_REST_CHARS && this.#cut(rest.length, '');
    const last = tokens.findLastIndex(({ type }) => type !== 'space');
    if (last > 0) {
      const code = tokens.findIndex(({ type }, index) => index > 0 && type === 'code');
      const done = tokens.slice(0, code > 0 ? code : last);
      const length = done.reduce((sum, { raw }) => sum + raw.length, 0);
      if (length === 0) return false;
      this.#cut(length, '', done);
      return code > 0;
    }
    if (rest.length <= MAX_REST_CHARS || last < 0) return false;
    const token = tokens[last];
    const cut = findCut(token, rest) || (rest.length > MAX_UNCUT_CHARS ? rest.length : 0);
    if (!cut) return false;
    return this.#cut(cut, token.type === 'table' ? tableHead(rest) : '');
  }

  /**
   * @param {number} length of the rest that is finished
   * @param {string} head what the next part of the same block begins with
   * @param {any[] | null} [tokens] of that part, if they are known
   */
  #cut(length, head, tokens = null) {
    const text = this.#rest.slice(0, length);
    if (this.#isWorthShowing(text)) this.#finished.push(this.#block(text, tokens));
    this.#rest = head + this.#rest.slice(length);
    this.#head = head;
    return head === '' && this.#rest !== '';
  }

  /** @param {string} text */
  #isWorthShowing(text) {
    return text.trim() !== '' && text.trim() !== this.#head.trim();
  }

  /**
   * @param {string} text
   * @param {any[] | null} [known]
   * @returns {Block}
   */
  #block(text, known = null) {
    const tokens = known ?? (isTangled(text) ? null : tokensOf(text));
    if (!tokens) return { kind: 'text', text };
    return { kind: 'tokens', tokens, isContinued: this.#head !== '' };
  }
}

/**
 * @param {string} text
 * @returns {any[] | null} null if it is more than marked can bear
 */
function tokensOf(text) {
  try {
    return Lexer.lex(text);
  } catch {
    return null;
  }
}
