/** Where one is in the page, in the fragment of its address: a reload comes back to it. Pure. */

/** @typedef {{ view: 'list' | 'session' | 'changes', sessionId: string }} Place */

const PATTERN = /^#\/session\/([^/]+)(\/changes)?$/;

/**
 * @param {string} fragment
 * @returns {Place}
 */
export function parsePlace(fragment) {
  const [, id, changes] = PATTERN.exec(fragment) ?? [];
  try {
    if (id) return { view: changes ? 'changes' : 'session', sessionId: decodeURIComponent(id) };
  } catch {
    // no address of ours
  }
  return { view: 'list', sessionId: '' };
}

/**
 * @param {string} sessionId
 * @param {'session' | 'changes'} [view]
 */
export function sessionAddress(sessionId, view = 'session') {
  return `#/session/${encodeURIComponent(sessionId)}${view === 'changes' ? '/changes' : ''}`;
}

export const LIST_ADDRESS = '#/';
