/**
 * An answer in the page, while it grows and after.
 *
 * Each finished block is drawn once, into an element of its own; only the last is drawn again. The
 * text is taken in small steps, so that a whole book at once is shown piece by piece.
 */

import { render } from '../../common/lit.js';
import { AnswerBlocks, STEP } from './answer_blocks.js';
import { runInSlices } from './frame_slices.js';
import { blockTemplate } from './markdown.js';

/** @typedef {import('./answer_blocks.js').Block} Block */
/** @typedef {import('./markdown.js').MarkdownContext} MarkdownContext */

export class AnswerBody {
  element = document.createElement('div');
  #blocks = new AnswerBlocks();
  /** @type {{ block: Block, element: HTMLElement }[]} */
  #drawn = [];
  #rest = document.createElement('div');
  #pending = '';
  #isEnded = false;
  #isOver = false;
  /** The next finished block to draw anew. */
  #redrawFrom = Number.POSITIVE_INFINITY;
  /** @type {() => MarkdownContext} */
  #context;
  /** @type {() => void} */
  #grown;

  /**
   * @param {{ context: () => MarkdownContext, grown: () => void }} options
   *   `grown` is called after something was drawn
   */
  constructor({ context, grown }) {
    this.#context = context;
    this.#grown = grown;
    this.element.className = 'markdown';
    this.#rest.className = 'markdown-block';
    this.element.append(this.#rest);
  }

  /** @param {string} text the next piece */
  add(text) {
    this.#pending += text;
    runInSlices(this.#step);
  }

  /** There is no more. */
  end() {
    this.#isEnded = true;
    runInSlices(this.#step);
  }

  /** What the context says has changed: citations, or the language. */
  redraw() {
    this.#redrawFrom = 0;
    runInSlices(this.#step);
  }

  #step = () => {
    if (this.#pending) {
      this.#take(this.#pending.slice(0, STEP));
      this.#pending = this.#pending.slice(STEP);
    } else if (this.#isEnded && !this.#isOver) {
      this.#isOver = true;
      this.#blocks.end();
      this.#drawNew();
    } else if (this.#redrawFrom < this.#drawn.length) {
      this.#draw(this.#drawn[this.#redrawFrom]);
      this.#redrawFrom += 1;
    }
    const isBehind = this.#pending !== '' || (this.#isEnded && !this.#isOver);
    if (!isBehind && this.#redrawFrom >= this.#drawn.length) {
      this.#redrawFrom = Number.POSITIVE_INFINITY;
      this.#drawRest();
      return false;
    }
    return true;
  };

  /** @param {string} text */
  #take(text) {
    this.#blocks.add(text);
    this.#drawNew();
  }

  #drawNew() {
    const taken = [...this.#blocks.taken()];
    // What is finished would stand there twice until the rest is drawn again, slices later.
    if (taken.length > 0) render([], this.#rest);
    for (const block of taken) {
      const element = document.createElement('div');
      element.className = 'markdown-block';
      const drawn = { block, element };
      this.#drawn.push(drawn);
      this.#draw(drawn);
      this.#rest.before(element);
    }
  }

  #drawRest() {
    const blocks = this.#isOver ? [] : this.#blocks.rest();
    render(
      blocks.map((block) => blockTemplate(block, this.#context())),
      this.#rest,
    );
    this.#rest.hidden = blocks.length === 0;
    this.#grown();
  }

  /** @param {{ block: Block, element: HTMLElement }} drawn */
  #draw({ block, element }) {
    render(blockTemplate(block, this.#context()), element);
  }
}
