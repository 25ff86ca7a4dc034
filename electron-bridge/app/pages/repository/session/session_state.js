/** The life of this window's repository, from event to event. Pure. */

/**
 * @typedef {object} SessionState
 * @property {'opening' | 'prepared' | 'crashed' | 'lost' | 'refused'} state
 *   `refused`: openRepo failed
 * @property {unknown} failure why it crashed, is lost or was refused
 * @property {string} path of the repository, once it is known
 */

/**
 * @typedef {{ type: 'requested' }
 *   | { type: 'opened', state: string, path: string }
 *   | { type: 'refused', failure: unknown }
 *   | { type: 'prepared' }
 *   | { type: 'crashed', failure: unknown }
 *   | { type: 'lost', failure: unknown }} SessionEvent
 */

/** @type {SessionState} */
export const INITIAL = Object.freeze({ state: 'opening', failure: null, path: '' });

/**
 * @param {SessionState} now
 * @param {SessionEvent} event
 * @returns {SessionState}
 */
export function reduce(now, event) {
  switch (event.type) {
    case 'requested':
      return { ...now, state: 'opening', failure: null };
    case 'opened':
      return opened({ ...now, path: event.path }, event.state);
    case 'refused':
      return { ...now, state: 'refused', failure: event.failure };
    case 'prepared':
      return { ...now, state: 'prepared', failure: null };
    case 'crashed':
      return { ...now, state: 'crashed', failure: event.failure };
    case 'lost':
      return { ...now, state: 'lost', failure: event.failure };
  }
}

/**
 * What openRepo's reply says may be older than an event that came before it.
 *
 * @param {SessionState} now
 * @param {string} state
 * @returns {SessionState}
 */
function opened(now, state) {
  if (now.state !== 'opening' && now.state !== 'refused') return now;
  if (state === 'prepared') return { ...now, state: 'prepared', failure: null };
  if (state === 'crashed' || state === 'lost') return { ...now, state };
  return { ...now, state: 'opening', failure: null };
}
