/** A file of the repository as it is now, in a drawer: the lines of a hit, and more around them. */

import { copyText } from '../../common/copy_text.js';
import { onLanguageChange } from '../../common/i18n.js';
import { kernel } from '../../common/kernel.js';
import { openedText } from '../../common/page_address.js';
import { nothing, render } from '../../common/lit.js';
import { onGrammar } from '../code/grammars.js';
import { openInEditor } from './editor.js';
import { pagesAround } from './file_pages.js';
import { Insight } from './insight.js';
import { focusInsight } from './insight_keys.js';
import { viewerTemplate } from './viewer_template.js';

/**
 * @typedef {object} Shown what to show
 * @property {string} filePath
 * @property {number} beginLine from 0
 * @property {number} endLine the first that does not belong to it
 * @property {string} [content] what stood there when it was found
 * @property {readonly import('../code/marks.js').Range[]} [marks] places in `content`
 * @property {string} [language]
 */

/** @typedef {import('./file_pages.js').FilePage} FilePage */

/** Lines per request. */
const STEP = 150;
/** Lines on either side of the hit that are there at first. */
const AROUND = 60;
/** Code that is coloured from its beginning is coloured right. */
const MAX_LINES_ABOVE = 340;
/** A hit of thousands of lines is shown from its beginning. */
const MAX_LINES_AT_FIRST = 400;
/** A key that is held down passes many places; the one where it stops is asked about. */
const INSIGHT_DELAY_MS = 200;
/** A name that may be asked about: not a sentence that happens to be selected. */
const NAME = /^[\p{L}_$][\p{L}\p{N}_$.:]{0,99}$/u;

export class Viewer {
  /** @type {Shown | null} */
  shown = null;
  /** @type {FilePage[]} */
  pages = [];
  lineCount = 0;
  language = '';
  /** @type {unknown} */
  failure = null;
  isLoading = false;
  /** What is known of the place, while that is shown. @type {Insight | null} */
  insight = null;
  /** Where one was before a way of the insight was gone. @type {Shown[]} */
  #trail = [];
  #number = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #asking;
  /** What had the keys before they went to the insight. @type {HTMLElement | null} */
  #beforeInsight = null;
  /** @type {HTMLDialogElement | null} */
  #dialog = null;
  /** @type {HTMLElement | null} */
  #before = null;

  /**
   * @param {{ pane?: HTMLElement, onClose?: () => void }} [options] `pane`: where it is shown,
   *   instead of in front of everything
   */
  constructor({ pane, onClose } = {}) {
    this.pane = pane;
    this.onClose = onClose;
    this.titleId = pane ? 'preview-title' : 'viewer-title';
    onLanguageChange(() => this.#draw());
    onGrammar(() => {
      for (const page of this.pages) page.lines = null;
      this.#draw();
    });
  }

  /** @param {Shown} shown */
  async open(shown) {
    this.#trail = [];
    clearTimeout(this.#asking);
    if (this.insight) this.#asking = setTimeout(() => this.#askAbout(shown), INSIGHT_DELAY_MS);
    await this.#load(shown);
  }

  /** @param {Shown} shown */
  async #load(shown) {
    this.shown = shown;
    this.pages = [];
    this.failure = null;
    this.lineCount = 0;
    this.#show();
    const isNear = shown.beginLine <= MAX_LINES_ABOVE;
    const begin = isNear ? 0 : shown.beginLine - AROUND;
    const end = Math.min(shown.endLine, shown.beginLine + MAX_LINES_AT_FIRST) + AROUND;
    if (await this.#read(begin, end, 'below')) this.#scrollToHit();
  }

  close() {
    if (this.pane) this.#closed();
    else this.#dialog?.close();
  }

  get begin() {
    return this.pages[0]?.begin ?? 0;
  }

  get end() {
    return this.pages.at(-1)?.end ?? 0;
  }

  async loadAbove() {
    const scroller = this.#scroller();
    const before = scroller ? scroller.scrollHeight - scroller.scrollTop : 0;
    await this.#read(Math.max(0, this.begin - STEP), this.begin, 'above');
    if (scroller) scroller.scrollTop = scroller.scrollHeight - before;
  }

  async loadBelow() {
    await this.#read(this.end, this.end + STEP, 'below');
  }

  /**
   * Show a line of the same file, and what is around it.
   *
   * @param {number} number from 1; beyond the file it is the last one
   */
  goToLine(number) {
    if (!this.shown || !(number >= 1)) return;
    const { filePath } = this.shown;
    const endLine = Math.min(Math.floor(number), this.lineCount);
    this.open({ filePath, beginLine: endLine - 1, endLine });
  }

  /** Whether there is a place to go back to. */
  get hasTrail() {
    return this.#trail.length > 0;
  }

  /** To where one was before `follow`. */
  back() {
    const before = this.#trail.pop();
    if (before) this.#load(before);
  }

  /**
   * Go to a place that the insight names, which stays as it is.
   *
   * @param {{ filePath: string, firstLine: number, lastLine: number }} place
   */
  follow({ filePath, firstLine, lastLine }) {
    if (this.shown) this.#trail.push(this.shown);
    this.#load({ filePath, beginLine: firstLine - 1, endLine: lastLine });
  }

  /** Show what is known of the selected name, else of these lines; again, and it is gone. */
  toggleInsight() {
    const place = this.selectedName() || this.#place();
    if (this.insight && place === this.insight.place) {
      this.closeInsight();
      return;
    }
    this.#beforeInsight = /** @type {HTMLElement | null} */ (document.activeElement);
    this.showInsight(place);
    focusInsight(this.#container()?.querySelector('.insight'));
  }

  /** @param {string} [place] */
  showInsight(place = this.#place()) {
    this.insight ??= new Insight(() => this.#draw());
    this.insight.ask(place);
    this.#draw();
  }

  closeInsight() {
    this.insight = null;
    this.#draw();
    this.leaveInsight();
  }

  /** The keys go to where they were before. */
  leaveInsight() {
    const before = this.#beforeInsight;
    if (before?.isConnected) before.focus();
    else this.#scroller()?.focus();
  }

  /** The name that is selected in the code, if it is one. */
  selectedName() {
    const selection = document.getSelection();
    const isHere = this.#scroller()?.contains(selection?.anchorNode ?? null);
    const text = isHere ? String(selection).trim() : '';
    return NAME.test(text) ? text : '';
  }

  /** @param {Shown} shown */
  #askAbout(shown) {
    this.insight?.ask(openedText(shown));
  }

  #place() {
    return this.shown ? openedText(this.shown) : '';
  }

  edit() {
    if (this.shown) openInEditor(this.shown.filePath, this.shown.beginLine + 1);
  }

  copyPlace() {
    if (this.shown) copyText(`${this.shown.filePath}:${this.shown.beginLine + 1}`);
  }

  copyLines() {
    const { shown, pages } = this;
    if (!shown) return;
    const lines = pages.flatMap(({ text }) => text.replace(/\n$/, '').split('\n'));
    const from = shown.beginLine - this.begin;
    const hit = lines.slice(Math.max(0, from), from + shown.endLine - shown.beginLine).join('\n');
    copyText(hit || shown.content || '');
  }

  /**
   * @param {number} beginLine
   * @param {number} endLine
   * @param {'above' | 'below'} where
   */
  async #read(beginLine, endLine, where) {
    const { shown } = this;
    if (!shown) return false;
    this.#number += 1;
    const number = this.#number;
    this.isLoading = true;
    this.#draw();
    try {
      const { filePath } = shown;
      const found = await kernel.readLines({ filePath, beginLine, endLine });
      if (number !== this.#number) return false;
      this.lineCount = found.lineCount;
      this.language = found.language;
      const pages = pagesAround(found);
      this.pages = where === 'above' ? [...pages, ...this.pages] : [...this.pages, ...pages];
      this.failure = null;
    } catch (failure) {
      if (number !== this.#number) return false;
      this.failure = failure;
    }
    this.isLoading = false;
    this.#draw();
    return this.failure === null;
  }

  #show() {
    if (this.pane || this.#dialog?.open) {
      this.#draw();
      return;
    }
    const dialog = document.createElement('dialog');
    dialog.className = 'viewer';
    dialog.setAttribute('aria-labelledby', this.titleId);
    dialog.addEventListener('close', () => this.#closed());
    dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
    this.#dialog = dialog;
    this.#before = /** @type {HTMLElement | null} */ (document.activeElement);
    document.body.append(dialog);
    this.#draw();
    dialog.showModal();
    this.#scroller()?.focus();
  }

  #closed() {
    this.#number += 1;
    this.#dialog?.remove();
    this.#dialog = null;
    this.shown = null;
    this.pages = [];
    if (!this.pane) this.insight = null;
    if (this.pane) render(nothing, this.pane);
    if (this.#before?.isConnected) this.#before.focus({ preventScroll: true });
    this.onClose?.();
  }

  #scrollToHit() {
    const scroller = this.#scroller();
    const line = scroller?.querySelector('.code-line.hit');
    if (!scroller || !line) return;
    const offset = line.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    scroller.scrollTop += offset - scroller.clientHeight / 4;
  }

  /** @returns {HTMLElement | null} */
  #scroller() {
    return this.#container()?.querySelector('.viewer-code') ?? null;
  }

  #container() {
    return this.pane ?? this.#dialog;
  }

  #draw() {
    const container = this.#container();
    if (container && this.shown) render(viewerTemplate(this, this.shown), container);
  }
}
