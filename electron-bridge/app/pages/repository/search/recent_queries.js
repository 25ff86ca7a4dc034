/** What was searched for here before, newest first, and what was saved to be searched for again. */

import { readPreference, savePreference } from '../../common/preferences.js';

const MAX_QUERIES = 12;
const MAX_SAVED = 50;

/**
 * @param {string} repoName
 * @returns {string[]}
 */
export function recentQueries(repoName) {
  return readList(`queries.${repoName}`);
}

/**
 * @param {string} repoName
 * @returns {string[]} in alphabetical order
 */
export function savedQueries(repoName) {
  return readList(`saved.${repoName}`);
}

/**
 * @param {string} repoName
 * @param {string} query
 */
export function noteQuery(repoName, query) {
  writeList(`queries.${repoName}`, addQuery(recentQueries(repoName), query));
}

/** @param {string} repoName */
export function forgetQueries(repoName) {
  writeList(`queries.${repoName}`, []);
}

/**
 * Save a query, or no longer.
 *
 * @param {string} repoName
 * @param {string} query
 */
export function toggleSaved(repoName, query) {
  const text = query.trim();
  const saved = savedQueries(repoName);
  const others = saved.filter((one) => one !== text);
  const now = others.length < saved.length ? others : [...saved, text].sort();
  writeList(`saved.${repoName}`, now.slice(0, MAX_SAVED));
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

/**
 * @param {string} name
 * @returns {string[]}
 */
function readList(name) {
  try {
    const found = JSON.parse(readPreference(name) ?? '[]');
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : [];
  } catch {
    return []; // not written by this page
  }
}

/**
 * @param {string} name
 * @param {string[]} queries
 */
function writeList(name, queries) {
  savePreference(name, JSON.stringify(queries));
}
