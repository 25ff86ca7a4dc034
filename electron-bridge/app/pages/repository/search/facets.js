/** What the results could be narrowed down to: languages and folders. Pure. */

/** @typedef {import('./query_parts.js').Part} Part */
/** @typedef {{ kind: 'lang' | 'path', value: string, count: number }} Facet */

const MAX_LANGUAGES = 4;
const MAX_FOLDERS = 5;
/** Of ten thousand results the best are enough to choose from. */
const MAX_COUNTED_RESULTS = 500;

/**
 * @param {readonly { filePath: string, language: string }[]} results
 * @param {readonly Part[]} parts of the query; what it has is not offered
 * @returns {Facet[]}
 */
export function facetsOf(results, parts) {
  const looked = results.slice(0, MAX_COUNTED_RESULTS);
  const has = (/** @type {string} */ kind, /** @type {string} */ value) =>
    parts.some((part) => part.kind === kind && part.value === value && !part.isNot);
  const languages =
    has('lang', '') || parts.some(({ kind }) => kind === 'lang')
      ? []
      : commonest(
          looked.map(({ language }) => language),
          MAX_LANGUAGES,
        );
  const folders = commonest(
    looked.map(({ filePath }) => topFolder(filePath)),
    MAX_FOLDERS,
  );
  return [
    ...languages.map(([value, count]) => ({ kind: /** @type {const} */ ('lang'), value, count })),
    ...folders
      .filter(([value]) => !has('path', value))
      .map(([value, count]) => ({ kind: /** @type {const} */ ('path'), value, count })),
  ].filter(({ count }) => count < looked.length);
}

/**
 * The first two folders of a path, or what there is of them.
 *
 * @param {string} filePath
 */
export function topFolder(filePath) {
  const folders = filePath.split('/').slice(0, -1);
  return folders.length > 0 ? `${folders.slice(0, 2).join('/')}/` : '';
}

/**
 * @param {string[]} values
 * @param {number} limit
 * @returns {[string, number][]}
 */
function commonest(values, limit) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const value of values) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]).slice(0, limit);
}
