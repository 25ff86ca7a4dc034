/** Results by file: a file stands where its best result stands. Pure. */

import { keyOfFile } from './scope.js';

/** @typedef {import('./search_state.js').SearchResult} SearchResult */

/** Of each file at first; the others are one key away. */
export const SHOWN_PER_FILE = 2;

/**
 * @typedef {object} ResultRow
 * @property {SearchResult} result
 * @property {boolean} isFirst of its file
 * @property {boolean} isLast of its file, as far as it is shown
 * @property {number} hidden further results of the file that are not shown
 * @property {number} matches results of the file
 */

/**
 * @param {readonly SearchResult[]} results best first
 * @param {ReadonlySet<string>} open keys of files of which all results are shown
 * @returns {ResultRow[]}
 */
export function rowsByFile(results, open) {
  /** @type {Map<string, SearchResult[]>} */
  const files = new Map();
  for (const result of results) {
    const before = files.get(keyOfFile(result));
    if (before) before.push(result);
    else files.set(keyOfFile(result), [result]);
  }
  return [...files].flatMap(([key, all]) => {
    const shown = open.has(key) ? all : all.slice(0, SHOWN_PER_FILE);
    return shown.map((result, index) => ({
      result,
      isFirst: index === 0,
      isLast: index === shown.length - 1,
      hidden: index === shown.length - 1 ? all.length - shown.length : 0,
      matches: all.length,
    }));
  });
}
