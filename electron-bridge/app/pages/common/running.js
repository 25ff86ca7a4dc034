/** What is at work in all repositories: what the kernel runs, and what this window has just begun. */

import { kernel } from './kernel.js';
import { onKernelState } from './kernel_state.js';

/** @typedef {{ repoName: string, conversation: number, topic: string, isAgent: boolean }} RunningTurn */

/** While something is at work; nothing tells a window that the turn of another one has ended. */
const INTERVAL_MS = 3_000;

/** As the kernel said last. @type {RunningTurn[]} */
let known = [];
/** Those whose answer this window waits for. @type {Map<string, RunningTurn[]>} */
const own = new Map();
/** Conversations whose turn this window has seen end, which an older list may still name. */
const ended = new Set();
/** @type {RunningTurn[]} */
let turns = [];
/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/**
 * @param {string} [repoName] else in all repositories
 * @returns {readonly RunningTurn[]}
 */
export function runningTurns(repoName) {
  return repoName === undefined ? turns : turns.filter((turn) => turn.repoName === repoName);
}

/** @param {() => void} listener called after each change */
export function onRunning(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * What this window waits for in a repository now.
 *
 * @param {string} repoName
 * @param {Omit<RunningTurn, 'repoName'>[]} begun
 */
export function setOwnTurns(repoName, begun) {
  const still = new Set(begun.map(({ conversation }) => conversation));
  for (const { conversation } of own.get(repoName) ?? []) {
    if (!still.has(conversation)) ended.add(conversation);
  }
  own.set(
    repoName,
    begun.map((turn) => ({ repoName, ...turn })),
  );
  combine();
}

export async function refreshRunning() {
  clearTimeout(timer);
  ended.clear();
  try {
    const reply = await kernel.getRunningTurns();
    known = reply.turns.map(({ repoName, conversationId, query, isAgent }) => ({
      repoName,
      conversation: conversationId,
      topic: query,
      isAgent,
    }));
    combine();
  } catch {
    // the banner says what is wrong with the kernel; asked again when it is back
  }
  clearTimeout(timer);
  if (turns.length > 0) timer = setTimeout(refreshRunning, INTERVAL_MS);
}

function combine() {
  const before = JSON.stringify(turns);
  const waitedFor = [...own.values()].flat();
  const mine = new Set(waitedFor.map(({ conversation }) => conversation));
  const others = known.filter(
    ({ conversation }) => !mine.has(conversation) && !ended.has(conversation),
  );
  turns = [...waitedFor, ...others];
  if (JSON.stringify(turns) === before) return;
  if (turns.length > 0 && !timer) timer = setTimeout(refreshRunning, INTERVAL_MS);
  for (const listener of listeners) listener();
}

onKernelState(({ state }) => state === 'running' && refreshRunning());
kernel.on('reposChanged', refreshRunning);
globalThis.addEventListener('focus', refreshRunning);
refreshRunning();
