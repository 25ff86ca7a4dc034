/** What was searched for here before, newest first. */

import { readPreference, savePreference } from '../../common/preferences.js';

const MAX_QUERIES = 12;

/**
 * @param {string} repoName
 * @returns {string[]}
 */
export function recentQueries(repoName) {
  try {
    const found = JSON.parse(readPreference(nameOf(repoName)) ?? '[]');
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : [];
  } catch {
    return []; // not written by this page
  }
}

/**
 * @param {string} repoName
 * @param {string} query
 */
export function noteQuery(repoName, query) {
  savePreference(nameOf(repoName), JSON.stringify(addQuery(recentQueries(repoName), query)));
}

/** @param {string} repoName */
export function forgetQueries(repoName) {
  savePreference(nameOf(repoName), '[]');
}

/**
 * @param {readonly string[]} queries
 * @param {string} query
 * @returns {string[]}
 */
export function addQuery(queries, query) {
  const text = query.trim();
  if (!text) return [...queries];
  // What was typed on the way to this one is not worth its place.
  const others = queries.filter(
    (one) => one !== text && !(text.startsWith(one) && text.length - one.length < 3),
  );
  return [text, ...others].slice(0, MAX_QUERIES);
}

/** @param {string} repoName */
function nameOf(repoName) {
  return `queries.${repoName}`;
}
