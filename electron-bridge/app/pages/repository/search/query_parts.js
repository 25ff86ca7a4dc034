/** The filters, exact strings and expressions of a query, as kernel/codekernel/search/query_syntax.py reads them. Pure. */

/**
 * @typedef {object} Part
 * @property {'lang' | 'path' | 'file' | 'kind' | 'symbol' | 'exact' | 'regex'} kind
 * @property {string} value
 * @property {boolean} isNot
 * @property {number} begin where it stands in the query
 * @property {number} end
 */

const QUOTED = '"((?:[^"\\\\]|\\\\.){1,1000})"';
const END = '(?=\\s|$)';
const FILTER = new RegExp(
  `(-?)(lang|path|file|kind|symbol|scope|repo):(?:${QUOTED}|((?!:|//|")\\S{1,500}))${END}`,
  'y',
);
const EXACT = new RegExp(QUOTED + END, 'y');
const REGEX = new RegExp(
  `/((?!\\s)(?:\\\\[^\\n]|\\[(?:\\\\[^\\n]|[^\\]\\\\\\n]){1,200}\\]|[^/\\\\[\\n]){1,500})(?<!\\s)/i?${END}`,
  'y',
);
const KINDS = /^(?:code|test|example|documentation|data|doc)s?$/i;
const WORD = /\S+/y;
const SPACE = /\s+/y;

/**
 * @param {string} query
 * @returns {Part[]} in order
 */
export function parseQuery(query) {
  /** @type {Part[]} */
  const parts = [];
  if (query.includes('\n')) return parts; // a message: nothing in it is meant as a filter
  let hasWords = false;
  let place = 0;
  while (place < query.length) {
    const space = matchAt(SPACE, query, place);
    const part = space ? null : partAt(query, place);
    if (part && !(part.kind === 'regex' && parts.some(({ kind }) => kind === 'regex'))) {
      parts.push(part);
      place = part.end;
    } else {
      hasWords ||= !space;
      place += (space ?? matchAt(WORD, query, place))?.[0].length ?? 1;
    }
  }
  // In a sentence quotation marks and slashes are punctuation.
  return parts.filter(({ kind }) => !hasWords || (kind !== 'exact' && kind !== 'regex'));
}

/**
 * @param {string} query
 * @param {readonly Part[]} parts of this query
 */
export function removeParts(query, ...parts) {
  const rest = [...parts]
    .sort((one, other) => other.begin - one.begin)
    .reduce((text, { begin, end }) => `${text.slice(0, begin)} ${text.slice(end)}`, query);
  return rest.replace(/\s+/g, ' ').trim();
}

/**
 * The query with one more filter, at its end; unchanged if it has it.
 *
 * @param {string} query
 * @param {{ kind: 'lang' | 'path' | 'file' | 'kind' | 'symbol', value: string, isNot?: boolean }} filter
 */
export function withFilter(query, { kind, value, isNot = false }) {
  const has = parseQuery(query).some(
    (part) => part.kind === kind && part.value === value && part.isNot === isNot,
  );
  if (has) return query;
  return `${query.trimEnd()} ${filterText({ kind, value, isNot })}`.trimStart();
}

/**
 * @param {{ kind: string, value: string, isNot: boolean }} filter
 */
export function filterText({ kind, value, isNot }) {
  const quoted = /[\s"]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
  return `${isNot ? '-' : ''}${kind}:${quoted}`;
}

/**
 * @param {string} query
 * @param {number} place
 * @returns {Part | null}
 */
function partAt(query, place) {
  const filter = matchAt(FILTER, query, place);
  if (filter) {
    const [all, minus, kind, quoted, plain] = filter;
    const value = plain ?? unescape(quoted);
    if (kind === 'kind' && !value.split(',').every((one) => KINDS.test(one))) return null;
    return makePart(/** @type {Part['kind']} */ (kind), value, minus === '-', place, all);
  }
  const exact = matchAt(EXACT, query, place);
  if (exact) return makePart('exact', unescape(exact[1]), false, place, exact[0]);
  const regex = matchAt(REGEX, query, place);
  return regex ? makePart('regex', regex[0], false, place, regex[0]) : null;
}

/**
 * @param {Part['kind']} kind
 * @param {string} value
 * @param {boolean} isNot
 * @param {number} begin
 * @param {string} text
 * @returns {Part}
 */
function makePart(kind, value, isNot, begin, text) {
  return { kind, value, isNot, begin, end: begin + text.length };
}

/**
 * @param {RegExp} pattern
 * @param {string} text
 * @param {number} place
 */
function matchAt(pattern, text, place) {
  pattern.lastIndex = place;
  return pattern.exec(text);
}

/** @param {string} quoted */
function unescape(quoted) {
  return quoted.replace(/\\(["\\])/g, '$1');
}
