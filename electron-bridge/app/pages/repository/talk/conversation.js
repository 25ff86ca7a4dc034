/** One conversation in this window: its turns, their answers in the page, and the one under way. */

import { kernel } from '../../common/kernel.js';
import { AnswerBody } from './answer_body.js';
import { failed, fromHistory, isRunning, newTurn, shownFiles, take } from './turns.js';

/** @typedef {import('./turns.js').Turn} Turn */
/** @typedef {{ turn: Turn, body: AnswerBody }} Shown */

export class Conversation {
  topic = '';
  /** @type {Shown[]} */
  turns = [];
  isLoading = false;
  /** @type {unknown} */
  failure = null;
  /** @type {import('../../../../window-kernel.d.ts').WindowTalk | null} */
  #talk = null;

  /**
   * @param {number} id
   * @param {{ changed: () => void, grown: () => void, openPlace: (judged: import('./citations.js').Judged) => void }} told
   */
  constructor(id, told) {
    this.id = id;
    this.told = told;
  }

  get isRunning() {
    const last = this.turns.at(-1);
    return last !== undefined && isRunning(last.turn);
  }

  /** Read what was said before. */
  async load() {
    this.isLoading = true;
    this.failure = null;
    this.told.changed();
    try {
      const { topic, history } = await kernel.getConversation({ conversationId: this.id });
      this.topic = topic;
      this.turns = history.map((/** @type {any} */ entry) => this.#shown(fromHistory(entry)));
      for (const { turn, body } of this.turns) {
        body.add(turn.answer);
        body.end();
      }
    } catch (failure) {
      this.failure = failure;
    }
    this.isLoading = false;
    this.told.changed();
  }

  /**
   * @param {string} query
   * @param {string} modelName
   */
  async ask(query, modelName) {
    const shown = this.#shown(newTurn({ query, modelName, time: Date.now() }));
    const { turn, body } = shown;
    this.topic ||= query;
    this.turns = [...this.turns, shown];
    this.told.changed();
    try {
      const question = { modelName, conversationId: this.id, query };
      this.#talk = kernel.converse(question, (part) => this.#part(shown, part));
      await this.#talk.finished;
      if (isRunning(turn)) take(turn, { type: 'done', content: '', outcome: 'done' });
    } catch (failure) {
      failed(turn, failure);
    }
    this.#talk = null;
    body.end();
    body.redraw(); // what the citations are worth is known now
    this.told.changed();
  }

  stop() {
    const last = this.turns.at(-1);
    if (!last || !this.#talk || !isRunning(last.turn)) return;
    last.turn.state = 'stopping';
    this.#talk.stop();
    this.told.changed();
  }

  /** The language of the page, or what is known of citations, has changed. */
  redraw() {
    for (const { body } of this.turns) body.redraw();
  }

  /**
   * @param {Shown} shown
   * @param {import('../../../../index.d.ts').ConversationPart} part
   */
  #part({ turn, body }, part) {
    const isStopping = turn.state === 'stopping';
    const before = turn.state;
    take(turn, part);
    if (isStopping && isRunning(turn)) turn.state = 'stopping';
    if (part.type === 'answer') body.add(part.content);
    if (part.type !== 'answer' || turn.state !== before) this.told.changed();
  }

  /**
   * @param {Turn} turn
   * @returns {Shown}
   */
  #shown(turn) {
    const body = new AnswerBody({
      grown: this.told.grown,
      context: () => ({
        known: shownFiles(turn),
        citations: turn.citations,
        openPlace: this.told.openPlace,
      }),
    });
    return { turn, body };
  }
}
