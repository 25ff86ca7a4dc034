/** A question and what came of it, put together from parts or read from the history. Pure. */

import { lastText, newRun, runFromHistory, settle } from './agent_run.js';

/** @typedef {import('../../../../types/protocol.d.ts').TurnEntry} TurnEntry */
/** @typedef {import('../../../../types/protocol.d.ts').RoundEntry} RoundEntry */
/** @typedef {import('../../../../index.d.ts').ConversationPart} ConversationPart */
/** @typedef {import('../../../../index.d.ts').DonePart} DonePart */

/**
 * @typedef {object} Turn
 * @property {string} query
 * @property {string} modelName
 * @property {number} time milliseconds since 1970
 * @property {(RoundEntry & { isOpen: boolean })[]} rounds
 * @property {string} answer
 * @property {'asking' | 'answering' | 'stopping' | 'done' | 'stopped' | 'failed' | 'interrupted'} state
 * @property {unknown} failure
 * @property {string} error what the history says of a failure
 * @property {import('../../../../types/protocol.d.ts').CitationEntry[]} citations
 * @property {number} masked
 * @property {string} unsaved why it is in the kernel's memory alone; empty if it is on the disk
 * @property {import('../../../../types/protocol.d.ts').SpentEntry | null} usage
 * @property {import('./agent_run.js').AgentRun | null} agent null for a question
 */

/**
 * @param {{ query: string, modelName: string, time: number, isAgent?: boolean }} question
 * @returns {Turn}
 */
export function newTurn({ query, modelName, time, isAgent = false }) {
  return {
    query,
    modelName,
    time,
    rounds: [],
    answer: '',
    state: 'asking',
    failure: null,
    error: '',
    citations: [],
    masked: 0,
    unsaved: '',
    usage: null,
    agent: isAgent ? newRun() : null,
  };
}

/**
 * A turn that is followed turns out to be this one.
 *
 * @param {Turn} turn
 * @param {import('../../../../types/protocol.d.ts').TaskPart} task
 */
export function beginFollowed(turn, { content, isAgent }) {
  turn.query = content;
  turn.agent = isAgent ? newRun() : null;
}

/**
 * The turn after a part of the answer; the same object, for it may be long. What an agent says is
 * taken by its run.
 *
 * @param {Turn} turn
 * @param {ConversationPart} part
 * @returns {Turn}
 */
export function applyPart(turn, part) {
  const last = turn.rounds[turn.rounds.length - 1];
  if (turn.state === 'asking' && part.type !== 'done') turn.state = 'answering';
  switch (part.type) {
    case 'annotation':
      turn.rounds.push({ annotation: part.content, search: [], result: [], isOpen: true });
      break;
    case 'search':
      last?.search.push(part.content);
      break;
    case 'result':
      last?.result.push(part.content);
      break;
    case 'doneRetrieval':
      if (last) last.isOpen = false;
      break;
    case 'answer':
      turn.answer += part.content;
      break;
    case 'done':
      return markEnded(turn, part);
  }
  return turn;
}

/**
 * @param {Turn} turn
 * @param {DonePart} done
 */
export function markEnded(turn, done) {
  for (const round of turn.rounds) round.isOpen = false;
  turn.state = stateOf(done.outcome);
  turn.citations = done.citations ?? [];
  turn.masked = done.masked ?? 0;
  turn.unsaved = done.unsaved ?? '';
  turn.usage = done.usage ?? null;
  if (turn.agent) {
    settle(turn.agent);
    turn.agent.changes = done.changes ?? [];
    turn.agent.time = done.time ?? 0;
    turn.answer = lastText(turn.agent);
  }
  return turn;
}

/**
 * @param {Turn} turn
 * @param {any} failure of the kernel; what came before stays
 */
export function markFailed(turn, failure) {
  if (failure?.done) markEnded(turn, failure.done);
  for (const round of turn.rounds) round.isOpen = false;
  if (turn.agent) settle(turn.agent);
  turn.state = failure?.code === 'ABORTED' ? 'stopped' : 'failed';
  if (turn.state === 'failed') turn.failure = failure;
  return turn;
}

/**
 * @param {TurnEntry} entry of the history
 * @returns {Turn}
 */
export function fromHistory(entry) {
  return {
    query: entry.query,
    modelName: entry.modelName ?? '',
    time: entry.time,
    rounds: entry.retrieval.map((round) => ({ ...round, isOpen: false })),
    answer: entry.answer,
    state: stateOf(entry.outcome),
    failure: null,
    error: entry.error ?? '',
    citations: entry.citations ?? [],
    masked: entry.masked ?? 0,
    unsaved: '',
    usage: entry.usage ?? null,
    agent: entry.agent ? runFromHistory(entry.agent, entry.time) : null,
  };
}

/** @param {Turn} turn */
export function isRunning({ state }) {
  return state === 'asking' || state === 'answering' || state === 'stopping';
}

/**
 * How many of these turns the history has: one that was refused at once is not among them.
 *
 * @param {readonly Turn[]} turns
 */
export function countKept(turns) {
  return turns.filter(({ state, failure }) => {
    const wasRefused = state === 'failed' && failure && !(/** @type {any} */ (failure).done);
    return !wasRefused;
  }).length;
}

/**
 * The files that the model was shown.
 *
 * @param {Turn} turn
 * @returns {Set<string>}
 */
export function shownFiles({ rounds }) {
  return new Set(rounds.flatMap(({ result }) => result.map(({ filePath }) => filePath)));
}

/** @param {string | undefined} outcome */
function stateOf(outcome) {
  if (outcome === 'stopped' || outcome === 'failed' || outcome === 'interrupted') return outcome;
  if (outcome === 'detached') return 'interrupted'; // for this window; the turn goes on
  return 'done';
}
