/** Where a search looks: in this repository, in some, or in all. Pure. */

/** @typedef {import('./search_state.js').SearchResult} SearchResult */
/** @typedef {readonly string[]} Scope names of repositories; none: the page's own; `*`: all */

export const ALL = '*';
/** @type {Scope} */
export const OWN = Object.freeze([]);

/**
 * The scope that a choice of names means.
 *
 * @param {readonly string[]} chosen
 * @param {{ own: string, all: readonly string[] }} repos
 * @returns {Scope}
 */
export function scopeOf(chosen, { own, all }) {
  if (all.length > 1 && all.every((name) => chosen.includes(name))) return [ALL];
  const isOwn = chosen.length === 0 || (chosen.length === 1 && chosen[0] === own);
  return isOwn ? OWN : all.filter((name) => chosen.includes(name));
}

/** @param {Scope | undefined} one @param {Scope | undefined} other */
export function isSameScope(one = OWN, other = OWN) {
  return one.join('\n') === other.join('\n');
}

/** What tells a result from those of all repositories. @param {SearchResult} result */
export function keyOfResult({ chunkId, repoName = '' }) {
  return `${chunkId} ${repoName}`;
}

/** @param {SearchResult} result */
export function keyOfFile({ filePath, repoName = '' }) {
  return `${repoName}\n${filePath}`;
}
