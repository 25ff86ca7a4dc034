/** What the conversation tab has: its conversations, models and rules, and what is written. */

import { kernel } from '../../common/kernel.js';
import { readPreference, savePreference } from '../../common/preferences.js';
import { toastFailure } from '../../common/toast.js';
import { Conversation } from './conversation.js';
import { ModelFacts } from './models.js';

/** @typedef {import('./conversation_list.js').Entry} Entry */
/** @typedef {import('./turns.js').Turn} Turn */
/** @typedef {import('../../../../types/protocol.d.ts').PermissionRuleEntry} Rule */

/**
 * @typedef {object} TalkCallbacks
 * @property {() => void} draw something around the turns has changed
 * @property {() => void} changed the conversation that is shown is another one, or has changed
 * @property {() => void} toEnd show what is newest
 * @property {ConstructorParameters<typeof Conversation>[1]} conversation of each conversation
 */

export class TalkState {
  /** @type {Entry[] | null} */
  entries = null;
  /** @type {unknown} */
  failure = null;
  /** @type {string[] | null} */
  models = null;
  modelName = readPreference('talk.model') ?? '';
  draft = '';
  isSendRequested = false;
  isAgent = readPreference('talk.kind') === 'agent';
  reviews = readPreference('talk.reviews') === 'yes';
  /** @type {Rule[]} */
  rules = [];
  facts = new ModelFacts();
  /** The turn whose question is written anew. @type {Turn | null} */
  edited = null;
  /** Those in which something is at work, whoever has begun it. @type {Set<number>} */
  #working = new Set();
  /** Those with a running turn, and the one that is shown. @type {Map<number, Conversation>} */
  #open = new Map();
  #hasComeBack = false;
  #noteListed = () => {};
  /** An address can name a conversation before the kernel has said what is at work. */
  #listed = new Promise((resolve) => {
    this.#noteListed = () => resolve(null);
  });

  /**
   * @param {import('../session/session.js').Session} session
   * @param {TalkCallbacks} callbacks
   */
  constructor(session, callbacks) {
    this.session = session;
    this.callbacks = callbacks;
    this.current = this.newConversation();
  }

  get turns() {
    return this.current.turns.map(({ turn }) => turn);
  }

  /** Conversations of this page in which an answer is written. */
  get answering() {
    return [...this.#open.values()].filter((one) => one.isRunning);
  }

  /** Where something is at work, whoever has begun it. */
  get running() {
    return new Set([...this.#working, ...this.answering.map(({ id }) => id)]);
  }

  newConversation() {
    return new Conversation(Date.now(), this.callbacks.conversation);
  }

  /** @param {string} modelName */
  choose(modelName) {
    this.modelName = modelName;
    savePreference('talk.model', modelName);
    this.callbacks.draw();
  }

  /** @param {boolean} isAgent */
  setAgent(isAgent) {
    this.isAgent = isAgent;
    savePreference('talk.kind', isAgent ? 'agent' : 'ask');
    this.callbacks.changed();
  }

  /** @param {boolean} reviews */
  setReviews(reviews) {
    this.reviews = reviews;
    savePreference('talk.reviews', reviews ? 'yes' : 'no');
    this.callbacks.draw();
  }

  /** @param {Conversation} conversation a branch of the one that is shown */
  showBranch(conversation) {
    this.#replaceCurrent(conversation);
    this.#open.set(conversation.id, conversation);
  }

  /** @param {Conversation} conversation */
  #replaceCurrent(conversation) {
    this.edited = null;
    if (!this.current.isRunning) this.#open.delete(this.current.id);
    this.current = conversation;
  }

  begin() {
    this.#replaceCurrent(this.newConversation());
    this.callbacks.changed();
  }

  /** @param {number} id */
  show(id) {
    if (id === this.current.id && this.current.turns.length > 0) {
      this.callbacks.draw();
      return;
    }
    const running = this.#open.get(id);
    this.#replaceCurrent(running ?? new Conversation(id, this.callbacks.conversation));
    this.#open.set(id, this.current);
    if (!running) this.#load(this.current);
    this.callbacks.toEnd();
    this.callbacks.changed();
  }

  /** Read its history, then follow what is at work there. @param {Conversation} conversation */
  async #load(conversation) {
    await Promise.all([conversation.load(), this.#listed]);
    if (conversation !== this.current || !this.#working.has(conversation.id)) return;
    conversation.failure = null; // there is no history before the first turn has ended
    await conversation.follow();
    if (conversation !== this.current) this.#open.delete(conversation.id);
    await this.loadList();
  }

  /**
   * Ask in the conversation that is shown, until it is answered.
   *
   * @param {string} query
   * @param {boolean} isAgent
   */
  async ask(query, isAgent) {
    const conversation = this.current;
    this.#open.set(conversation.id, conversation);
    this.callbacks.toEnd();
    const answered = conversation.ask(query.trim(), this.modelName, {
      isAgent,
      reviews: this.reviews,
    });
    this.#listAtOnce(conversation);
    await answered;
    if (conversation !== this.current) this.#open.delete(conversation.id);
    await Promise.all([this.loadList(), isAgent ? this.loadRules() : null]);
  }

  /** @param {number} id */
  async remove(id) {
    try {
      this.#open.get(id)?.stop();
      await kernel.deleteConversation({ conversationId: id });
      this.#open.delete(id);
      if (this.current.id === id) this.begin();
    } catch (failure) {
      toastFailure(failure);
    }
    await this.loadList();
  }

  loadAll() {
    this.loadList();
    if (this.session.isPrepared) this.loadRules();
  }

  async loadList() {
    if (!this.session.isPrepared) return;
    try {
      const { conversations, running = [] } = await kernel.getConversations();
      this.#working = new Set(running.map(({ conversationId }) => conversationId));
      this.entries = [...begunEntries(running, conversations), ...conversations];
      this.failure = null;
      this.#noteListed();
      this.#comeBack();
    } catch (failure) {
      this.failure = failure;
    }
    this.callbacks.draw();
  }

  async loadModels() {
    try {
      const reply = await kernel.getGenerationModels();
      this.facts = new ModelFacts(reply);
      this.models = reply.modelList.map(({ name }) => name);
      if (!this.models.includes(this.modelName)) this.modelName = this.models[0] ?? '';
    } catch {
      // the banner shows that the kernel does not run; loaded again when it is back
    }
    this.callbacks.changed();
  }

  async loadRules() {
    try {
      this.rules = (await kernel.getPermissionRules()).rules;
      this.callbacks.draw();
    } catch {
      // asked again with the list
    }
  }

  /** The kernel lists it when the first answer is there. @param {Conversation} conversation */
  #listAtOnce({ id, topic, turns }) {
    const others = (this.entries ?? []).filter(({ conversationId }) => conversationId !== id);
    const entry = { conversationId: id, topic, time: Date.now(), turns: turns.length };
    this.entries = [entry, ...others];
    this.callbacks.draw();
  }

  /** A page that was loaded again shows what is at work, unless its address says otherwise. */
  #comeBack() {
    const [id] = this.#working;
    const isElsewhere = this.#open.has(this.current.id) || this.draft !== '';
    if (this.#hasComeBack || id === undefined || isElsewhere) return;
    this.#hasComeBack = true;
    this.show(id);
  }
}

/**
 * Conversations with a first turn that still runs, which the kernel does not list yet.
 *
 * @param {readonly { conversationId: number, query: string }[]} running
 * @param {readonly Entry[]} listed
 * @returns {Entry[]}
 */
function begunEntries(running, listed) {
  const known = new Set(listed.map(({ conversationId }) => conversationId));
  return running
    .filter(({ conversationId }) => !known.has(conversationId))
    .map(({ conversationId, query }) => ({
      conversationId,
      topic: query,
      time: Date.now(),
      turns: 0,
    }));
}
