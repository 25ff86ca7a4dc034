/** Going on in a new conversation that has the first turns of another one, which stays as it is. */

import { kernel } from '../../common/kernel.js';
import { toastFailure } from '../../common/toast.js';
import { countKept } from './turns.js';

/** @typedef {import('./talk_state.js').TalkState} TalkState */
/** @typedef {import('./turns.js').Turn} Turn */

/**
 * Begin a branch that ends before a turn.
 *
 * @param {TalkState} talk
 * @param {Turn} turn
 */
export function branchBefore(talk, turn) {
  return branch(talk, talk.turns.indexOf(turn));
}

/**
 * Begin a branch that ends with a turn.
 *
 * @param {TalkState} talk
 * @param {Turn} turn
 */
export function branchAfter(talk, turn) {
  return branch(talk, talk.turns.indexOf(turn) + 1);
}

/**
 * @param {TalkState} talk
 * @param {number} count of turns
 * @returns {Promise<boolean>} whether it is there
 */
async function branch(talk, count) {
  const kept = countKept(talk.turns.slice(0, count));
  const forked = talk.newConversation();
  if (kept > 0) {
    const fields = { conversationId: talk.current.id, newId: forked.id, turns: kept };
    try {
      await kernel.forkConversation(fields);
    } catch (failure) {
      toastFailure(failure);
      return false;
    }
  }
  talk.showBranch(forked);
  if (kept > 0) await forked.load();
  talk.callbacks.changed();
  return true;
}
