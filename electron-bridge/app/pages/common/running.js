/** The turns at work that this window knows of: answers it waits for, and agents of anybody. */

/** @typedef {{ repoName: string, conversation: number, topic: string }} RunningTurn */

/** @type {Map<string, RunningTurn[]>} */
const byRepository = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();

/** @returns {RunningTurn[]} */
export function runningTurns() {
  return [...byRepository.values()].flat();
}

/**
 * What is at work in a repository now.
 *
 * @param {string} repoName
 * @param {Omit<RunningTurn, 'repoName'>[]} turns
 */
export function setRunning(repoName, turns) {
  const before = JSON.stringify(byRepository.get(repoName) ?? []);
  const now = turns.map((turn) => ({ repoName, ...turn }));
  if (JSON.stringify(now) === before) return;
  byRepository.set(repoName, now);
  for (const listener of listeners) listener();
}

/** @param {() => void} listener called after each change */
export function onRunning(listener) {
  listeners.add(listener);
}
