/** The turns of a session: each is drawn once, and only what changes in it is drawn again. */

import { t } from '../../common/i18n.js';
import { formatTime } from '../../common/format.js';
import { html, nothing, render } from '../../common/lit.js';
import { AgentBody } from '../../repository/conversation/agent_body.js';
import { Transcript } from '../sessions/transcript.js';

/** @typedef {import('../sessions/transcript.js').Turn} Turn */

/** Only places with their lines are links: which files a model was shown is not known here. */
const NO_FILES = Object.freeze({ known: new Set(), citations: [] });

export class TranscriptView {
  element = document.createElement('div');
  #transcript = new Transcript();
  /** @type {Map<Turn, { question: HTMLElement, body: AgentBody }>} */
  #views = new Map();
  #options;

  /**
   * @param {{
   *   grown: () => void,
   *   openPlace: (place: import('./file_dialog.js').FilePlace) => void,
   * }} options
   */
  constructor(options) {
    this.#options = options;
    this.element.className = 'turns';
  }

  get turns() {
    return this.#transcript.turns;
  }

  /**
   * @param {import('../sessions/message_log.js').MessageLog} log
   * @param {import('../sessions/session_record.js').SessionRecord} session
   */
  update(log, session) {
    const { isNew, changed } = this.#transcript.update(log.shown, log.growing);
    if (isNew) {
      this.element.replaceChildren();
      this.#views.clear();
    }
    for (const [turn, items] of changed) this.#viewOf(turn).body.update([...items]);
    for (const [turn, items] of this.#transcript.applyState(session)) {
      this.#viewOf(turn).body.update([...items]);
    }
  }

  /** The language of the page has changed. */
  redraw() {
    for (const [turn, { question, body }] of this.#views) {
      drawQuestion(turn, question);
      body.redraw();
    }
  }

  /** @param {Turn} turn */
  #viewOf(turn) {
    const known = this.#views.get(turn);
    if (known) return known;
    const element = document.createElement('article');
    element.className = 'turn';
    const question = document.createElement('div');
    question.className = 'turn-question';
    const { grown, openPlace } = this.#options;
    const body = new AgentBody({
      grown,
      context: () => ({ ...NO_FILES, openPlace }),
      openFile: (path) => openPlace({ path }),
      decide: null,
    });
    element.append(question, body.element);
    this.element.append(element);
    const view = { question, body };
    this.#views.set(turn, view);
    drawQuestion(turn, question);
    return view;
  }
}

/**
 * @param {Turn} turn
 * @param {HTMLElement} element
 */
function drawQuestion({ question, askedAt }, element) {
  render(
    question === null
      ? nothing
      : html`<div class="question">
          <h2 class="visually-hidden">${t('agents.you')}</h2>
          <p class="question-text">${question}</p>
          <p class="faint">${formatTime(askedAt)}</p>
        </div>`,
    element,
  );
}
