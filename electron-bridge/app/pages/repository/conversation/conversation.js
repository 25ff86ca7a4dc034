/** One conversation in this window: its turns, their answers in the page, and the running turn. */

import { kernel } from '../../common/kernel.js';
import { AgentBody } from './agent_body.js';
import {
  applyDecision,
  applyMessage,
  applyPermission,
  applySettled,
  mergeUndone,
} from './agent_run.js';
import { AnswerBody } from './answer_body.js';
import {
  applyPart,
  beginFollowed,
  fromHistory,
  isRunning,
  markFailed,
  newTurn,
  shownFiles,
} from './turns.js';

/** @typedef {import('./turns.js').Turn} Turn */
/** @typedef {{ turn: Turn, body: AnswerBody, work: AgentBody }} Shown */
/** @typedef {import('./agent_run.js').ToolItem} ToolItem */

/**
 * @typedef {object} ConversationCallbacks
 * @property {() => void} changed
 * @property {() => void} grown
 * @property {(judged: import('./citations.js').CheckedCitation) => void} openPlace
 * @property {(filePath: string) => void} openFile
 * @property {(failure: unknown) => void} failed
 */

export class Conversation {
  topic = '';
  /** @type {Shown[]} */
  turns = [];
  isLoading = false;
  /** @type {unknown} */
  failure = null;
  /** @type {import('../../../../window-kernel.d.ts').WindowConversation | null} */
  #stream = null;

  /**
   * @param {number} id
   * @param {ConversationCallbacks} callbacks
   */
  constructor(id, callbacks) {
    this.id = id;
    this.callbacks = callbacks;
  }

  get isRunning() {
    const last = this.turns.at(-1);
    return last !== undefined && isRunning(last.turn);
  }

  /** As the badge names it while it is at work. */
  get entry() {
    const isAgent = Boolean(this.turns.at(-1)?.turn.agent);
    return { conversation: this.id, topic: this.topic, isAgent };
  }

  /** Load the earlier turns. */
  async load() {
    this.isLoading = true;
    this.failure = null;
    this.callbacks.changed();
    try {
      const { topic, history } = await kernel.getConversation({ conversationId: this.id });
      this.topic = topic;
      this.turns = history.map((/** @type {any} */ entry) => this.#shown(fromHistory(entry)));
      for (const { turn, body, work } of this.turns) {
        if (turn.agent) work.update(turn.agent.items);
        else body.add(turn.answer);
        body.end();
        work.end();
      }
    } catch (failure) {
      this.failure = failure;
    }
    this.isLoading = false;
    this.callbacks.changed();
  }

  /**
   * @param {string} query
   * @param {string} modelName
   * @param {{ isAgent?: boolean, reviews?: boolean }} [options] a task for an agent, not a question;
   *   `reviews`: each of its edits waits as a diff
   */
  async ask(query, modelName, { isAgent = false, reviews = false } = {}) {
    const shown = this.#shown(newTurn({ query, modelName, time: Date.now(), isAgent }));
    this.topic ||= query;
    await this.#run(shown, { modelName, conversationId: this.id, query, isAgent, reviews });
  }

  /** Show what is at work here, from its beginning. */
  async follow() {
    const shown = this.#shown(newTurn({ query: '', modelName: '', time: Date.now() }));
    const question = { modelName: '', conversationId: this.id, query: '', isFollowed: true };
    await this.#run(shown, question);
    if (shown.turn.query) return;
    this.turns = this.turns.filter((each) => each !== shown); // it had ended by then
    await this.load();
  }

  /**
   * @param {Shown} shown
   * @param {import('../../../../index.d.ts').Question} question
   */
  async #run(shown, question) {
    const { turn, body, work } = shown;
    this.turns = [...this.turns, shown];
    this.callbacks.changed();
    try {
      this.#stream = kernel.converse(question, (part) => this.#onPart(shown, part));
      await this.#stream.finished;
      if (isRunning(turn)) applyPart(turn, { type: 'done', content: '', outcome: 'done' });
    } catch (failure) {
      markFailed(turn, failure);
    }
    this.#stream = null;
    body.end();
    body.redraw(); // what the citations are worth is known now
    work.end();
    work.redraw(); // what was cut off runs no more
    this.callbacks.changed();
  }

  stop() {
    const last = this.turns.at(-1);
    if (!last || !this.#stream || !isRunning(last.turn)) return;
    last.turn.state = 'stopping';
    this.#stream.stop();
    this.callbacks.changed();
  }

  /**
   * Undo what an agent's turn did to files; rejects with a KernelFailure.
   *
   * @param {Turn} turn
   */
  async undo({ agent }) {
    if (!agent) return;
    const { files } = await kernel.undoAgentTurn({ conversationId: this.id, time: agent.time });
    agent.undone = mergeUndone(agent.undone ?? [], files);
    this.callbacks.changed();
  }

  /** The language of the page, or what is known of citations, has changed. */
  redraw() {
    for (const { body, work } of this.turns) {
      body.redraw();
      work.redraw();
    }
  }

  /**
   * @param {ToolItem} tool
   * @param {'allow' | 'allowTurn' | 'allowRule' | 'deny'} decision
   * @param {number[]} [hunks] of an edit, those that are accepted
   */
  #decide(tool, decision, hunks) {
    applyDecision(tool, decision);
    kernel
      .answerPermission({
        conversationId: this.id,
        toolUseId: tool.id,
        decision,
        ...(hunks && { hunks }),
      })
      .catch((/** @type {any} */ failure) => {
        // Another device was first; its answer comes as a part.
        if (failure?.code !== 'PERMISSION_ANSWERED') this.callbacks.failed(failure);
      });
    this.callbacks.changed();
  }

  /**
   * @param {Shown} shown
   * @param {import('../../../../index.d.ts').ConversationPart} part
   */
  #onPart({ turn, body, work }, part) {
    const isStopping = turn.state === 'stopping';
    const before = turn.state;
    applyPart(turn, part);
    if (isStopping && isRunning(turn)) turn.state = 'stopping';
    if (part.type === 'answer') body.add(part.content);
    if (part.type === 'task') {
      beginFollowed(turn, part);
      this.topic ||= part.content;
    }
    if (turn.agent && part.type === 'permissionAnswered') {
      work.update(applySettled(turn.agent, part.content));
    }
    if (turn.agent && part.type === 'message') work.update(applyMessage(turn.agent, part.content));
    if (turn.agent && part.type === 'permission') {
      const waiting = applyPermission(turn.agent, part.content);
      work.update(waiting);
      waiting.forEach((tool) => work.offerFocus(tool));
    }
    const isText = part.type === 'answer' || part.type === 'message';
    if (!isText || turn.state !== before) this.callbacks.changed();
  }

  /**
   * @param {Turn} turn
   * @returns {Shown}
   */
  #shown(turn) {
    const { grown, openPlace, openFile } = this.callbacks;
    const context = () => ({ known: shownFiles(turn), citations: turn.citations, openPlace });
    const body = new AnswerBody({ grown, context });
    const decide = (
      /** @type {ToolItem} */ tool,
      /** @type {any} */ decision,
      /** @type {number[] | undefined} */ hunks,
    ) => this.#decide(tool, decision, hunks);
    const work = new AgentBody({ grown, context, decide, openFile });
    return { turn, body, work };
  }
}
