/** Places that an answer names (`path:begin-end`, lines from 1), as kernel/codekernel/conversation has them. Pure. */

/** @typedef {import('../../../../types/protocol.d.ts').CitationEntry} CitationEntry */

/**
 * @typedef {object} Place
 * @property {string} text as it is written
 * @property {string} path as the repository has it, if that is known
 * @property {number} begin
 * @property {number} end
 */

/**
 * @typedef {object} CheckedCitation
 * @property {'unchecked' | 'verified' | 'moved' | 'stale' | 'missing'} state
 * @property {string} reason
 * @property {string} path
 * @property {number} begin where the lines are now
 * @property {number} end
 */

const LINES = ':L?(\\d{1,7})(?:[ ]?[-\\u2010-\\u2015][ ]?L?(\\d{1,7}))?(?!\\w|\\.\\w)';
const IN_CODE = new RegExp(`^([^\`\\n:]{1,400})${LINES}$`);
const PLAIN = new RegExp(`([^\\s\`"'<>()\\[\\]{}|*,;:\\u3000-\\u303f]{1,400})${LINES}`, 'g');
const EXTENSION = /\.[A-Za-z]\w{0,9}$/;
/** What the kernel says if there is nothing to hold the citation against. */
const NOT_RETRIEVED = /was not among|were not among|cannot be read|leads out/;

/**
 * A piece of code that is a place and nothing else.
 *
 * @param {string} code
 * @param {ReadonlySet<string>} known the files that were shown to the model
 * @returns {Place | null}
 */
export function placeInCode(code, known) {
  const match = IN_CODE.exec(code);
  return match ? placeOf(match, known) : null;
}

/**
 * Text cut into what is a place and what is not.
 *
 * @param {string} text
 * @param {ReadonlySet<string>} known
 * @returns {(string | Place)[]}
 */
export function placesIn(text, known) {
  /** @type {(string | Place)[]} */
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(PLAIN)) {
    const place = placeOf(match, known);
    if (!place) continue;
    if (match.index > end) pieces.push(text.slice(end, match.index));
    pieces.push(place);
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

/**
 * What the kernel found out about a place.
 *
 * @param {Place} place
 * @param {readonly CitationEntry[]} citations
 * @returns {CheckedCitation}
 */
export function checkCitation(place, citations) {
  const { path, begin, end } = place;
  const near = citations.filter((one) => one.begin === begin && isSameFile(one.filePath, path));
  const entry = near.find((one) => one.end === end) ?? near[0];
  if (!entry) return { state: 'unchecked', reason: '', path, begin, end };
  const reason = entry.reason ?? '';
  const found = { reason, path: entry.filePath, begin, end };
  if (entry.state === 'verified') return { ...found, state: 'verified' };
  if (entry.state === 'moved') {
    return { ...found, state: 'moved', begin: entry.nowBegin ?? begin, end: entry.nowEnd ?? end };
  }
  return { ...found, state: NOT_RETRIEVED.test(reason) ? 'missing' : 'stale' };
}

/**
 * @param {RegExpMatchArray} match
 * @param {ReadonlySet<string>} known
 * @returns {Place | null}
 */
function placeOf([text, writtenPath, first, last], known) {
  const written = writtenPath.trim();
  const begin = Number(first);
  const end = Number(last ?? first);
  const path = knownPath(written, known);
  if (path === null && !needsFile(written, last !== undefined)) return null;
  return { text, path: path ?? written, begin, end };
}

/**
 * The path that is meant: written out, or so much of its end that only one can be.
 *
 * @param {string} written
 * @param {ReadonlySet<string>} known
 */
function knownPath(written, known) {
  const name = written.replaceAll('\\', '/').replace(/^\.\//, '').replace(/^\/+/, '');
  if (known.has(name)) return name;
  const ends = name ? [...known].filter((path) => path.endsWith(`/${name}`)) : [];
  return ends.length === 1 ? ends[0] : null;
}

/**
 * A host with its port, or the time of day, is no file.
 *
 * @param {string} written
 * @param {boolean} hasRange
 */
function needsFile(written, hasRange) {
  return EXTENSION.test(written) && (hasRange || written.includes('/'));
}

/**
 * @param {string} one
 * @param {string} other
 */
function isSameFile(one, other) {
  return one === other || one.endsWith(`/${other}`) || other.endsWith(`/${one}`);
}
