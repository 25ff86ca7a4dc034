/**
 * Messages as turns: what the user said, and what the agent did about it.
 *
 * The runs are those of the conversation page, so that the same parts draw them. Pure.
 */

import {
  applyMessage,
  applyPermission,
  newRun,
  settle,
} from '../../repository/conversation/agent_run.js';

/** @typedef {import('../../repository/conversation/agent_run.js').AgentRun} AgentRun */
/** @typedef {import('../../repository/conversation/agent_run.js').Item} Item */
/** @typedef {import('../../repository/conversation/agent_run.js').ToolItem} ToolItem */
/** @typedef {import('./message_log.js').LoggedMessage} LoggedMessage */
/** @typedef {import('./session_record.js').SessionRecord} SessionRecord */

/**
 * @typedef {object} Turn
 * @property {string} key
 * @property {string | null} question null if it is not among the messages
 * @property {number} askedAt
 * @property {AgentRun} run
 */

export class Transcript {
  /** @type {Turn[]} */
  turns = [];
  /** @type {string[]} ids of the messages that are in the turns */
  #applied = [];
  /** Whether a message that grows is in the last turn, too. */
  #hasGrowing = false;

  /**
   * Take over the messages; what was there is kept if they go on from it.
   *
   * @param {readonly LoggedMessage[]} messages
   * @param {readonly LoggedMessage[]} growing
   * @returns {{ isNew: boolean, changed: Map<Turn, Set<Item>> }} `isNew`: all turns are other ones
   */
  update(messages, growing) {
    /** @type {Map<Turn, Set<Item>>} */
    const changed = new Map();
    const isNew = !this.#applied.every((id, index) => messages[index]?.id === id);
    if (isNew) {
      this.turns = [];
      this.#applied = [];
    }
    for (const message of messages.slice(this.#applied.length)) {
      this.#applied.push(message.id);
      this.#apply(message, changed);
    }
    for (const message of growing) this.#apply(message, changed);
    this.#hasGrowing = growing.length > 0;
    return { isNew, changed };
  }

  /**
   * Mark the tools that wait for an answer, and those that nothing runs for any longer.
   *
   * @param {SessionRecord} session
   * @returns {Map<Turn, Set<Item>>}
   */
  applyState({ requests, answered, isThinking }) {
    /** @type {Map<Turn, Set<Item>>} */
    const changed = new Map();
    const waiting = new Map((requests ?? []).map((each) => [each.toolUseId, each]));
    const denied = new Set(
      answered.filter(({ status }) => status === 'denied').map((each) => each.toolUseId),
    );
    for (const [index, turn] of this.turns.entries()) {
      const isRunning = isThinking && index === this.turns.length - 1;
      for (const item of turn.run.items) {
        if (item.kind !== 'tool') continue;
        const before = item.status;
        const request = waiting.get(item.id);
        if (request && (before === 'running' || before === 'asking')) {
          const { danger, tool, arguments: input } = request;
          applyPermission(turn.run, { toolUseId: item.id, danger, tool, input });
        } else if (before === 'asking') item.status = 'running';
        if (denied.has(item.id) && (item.status === 'running' || before === 'error')) {
          item.status = 'denied';
        }
        if (item.status !== before) note(changed, turn, [item]);
      }
      if (!isRunning && !this.#hasGrowing) note(changed, turn, settle(turn.run));
    }
    return changed;
  }

  /**
   * @param {LoggedMessage} message
   * @param {Map<Turn, Set<Item>>} changed
   */
  #apply(message, changed) {
    const read = readEnvelope(message.content);
    if (read.kind === 'question') {
      const { id: key, invokedAt, createdAt } = message;
      const askedAt = invokedAt ?? createdAt;
      this.turns.push({ key, question: read.text, askedAt, run: newRun() });
      changed.set(this.turns[this.turns.length - 1], new Set());
      return;
    }
    if (this.turns.length === 0) {
      const { id: key, createdAt: askedAt } = message;
      this.turns.push({ key, question: null, askedAt, run: newRun() });
    }
    const turn = this.turns[this.turns.length - 1];
    if (read.kind === 'note') {
      /** @type {Item} */
      const item = { kind: 'note', text: read.text };
      turn.run.items.push(item);
      note(changed, turn, [item]);
    } else if (read.kind === 'message') {
      const { role, content } = read;
      note(
        changed,
        turn,
        applyMessage(turn.run, { role, content, meta: { id: message.id, complete: true } }),
      );
    }
  }
}

/**
 * What an envelope of the contract says.
 *
 * @param {any} envelope
 * @returns {{ kind: 'question' | 'note', text: string }
 *   | { kind: 'message', role: string, content: any[] } | { kind: 'other' }}
 */
export function readEnvelope(envelope) {
  const { role, content } = envelope ?? {};
  if (role === 'user') return { kind: 'question', text: String(content?.text ?? '') };
  const data = content?.data;
  if (content?.type === 'event') {
    return typeof data?.message === 'string'
      ? { kind: 'note', text: data.message }
      : { kind: 'other' };
  }
  if (content?.type === 'output' && Array.isArray(data?.message?.content)) {
    return { kind: 'message', role: data.type, content: data.message.content.map(readBlock) };
  }
  return { kind: 'other' };
}

/** @param {any} block a result may be a list of texts */
function readBlock(block) {
  if (block?.type !== 'tool_result' || !Array.isArray(block.content)) return block ?? {};
  const texts = block.content.map((/** @type {any} */ each) => String(each?.text ?? ''));
  return { ...block, content: texts.join('\n') };
}

/**
 * @param {Map<Turn, Set<Item>>} changed
 * @param {Turn} turn
 * @param {Item[]} items
 */
function note(changed, turn, items) {
  if (items.length === 0) return;
  changed.set(turn, new Set([...(changed.get(turn) ?? []), ...items]));
}
