/** What the hits could be narrowed down to, as the kernel has counted it, and what is chosen. Pure. */

import { parseQuery, removeParts, withFilter } from './query_parts.js';

/** @typedef {import('../../../../types/protocol.d.ts').SearchFacets} SearchFacets */
/** @typedef {'kind' | 'lang' | 'path' | 'symbol'} FacetKind */
/** @typedef {{ kind: FacetKind, values: { value: string, count: number, isChosen: boolean }[] }} FacetGroup */

/** @type {readonly (readonly [FacetKind, 'kinds' | 'languages' | 'folders' | 'symbols'])[]} */
const GROUPS = Object.freeze([
  ['kind', 'kinds'],
  ['lang', 'languages'],
  ['path', 'folders'],
  ['symbol', 'symbols'],
]);

/**
 * @param {SearchFacets | null} facets
 * @param {string} query
 * @returns {FacetGroup[]} those with a choice
 */
export function facetGroups(facets, query) {
  if (!facets) return [];
  const parts = parseQuery(query);
  return GROUPS.map(([kind, name]) => {
    const found = name === 'folders' ? withoutSame(facets[name]) : facets[name];
    const isChosen = (/** @type {string} */ value) =>
      parts.some((part) => part.kind === kind && part.value === value && !part.isNot);
    const values = found.map((each) => ({ ...each, isChosen: isChosen(each.value) }));
    return { kind, values };
  }).filter(
    ({ values }) =>
      values.some(({ isChosen }) => isChosen) ||
      values.some(({ count }) => count < facets.total && values.length > 0),
  );
}

/**
 * The query with a value chosen, or no longer.
 *
 * @param {string} query
 * @param {FacetKind} kind
 * @param {string} value
 */
export function toggleFacet(query, kind, value) {
  const parts = parseQuery(query).filter(
    (part) => part.kind === kind && part.value === value && !part.isNot,
  );
  return parts.length > 0 ? removeParts(query, ...parts) : withFilter(query, { kind, value });
}

/**
 * A folder that has all its hits in one folder below says nothing.
 *
 * @param {readonly { value: string, count: number }[]} folders
 */
function withoutSame(folders) {
  return folders.filter(
    ({ value, count }) =>
      !folders.some(
        (other) => other.value !== value && other.value.startsWith(value) && other.count === count,
      ),
  );
}
