/** What is shown of a tool's input and output, short and whole. Pure. */

/** Characters of an argument in its row. */
const MAX_SHORT_CHARS = 120;
/** Lines and characters of an output that are shown before it is expanded. */
const MAX_LINES = 24;
const MAX_CHARS = 3_000;

/** What a tool is about, by the names of arguments; the first that is there. */
const SHOWN_ARGUMENTS = [
  'command',
  'path',
  'file_path',
  'pattern',
  'query',
  'method',
  'input_text',
  'action',
];

/**
 * The one argument that tells most, in one line.
 *
 * @param {Record<string, unknown>} input
 */
export function shortArgument(input) {
  const name = SHOWN_ARGUMENTS.find(
    (each) => typeof input[each] === 'string' && input[each] !== '',
  );
  const value = name ? String(input[name]) : firstText(input);
  const line = value.replace(/\s+/g, ' ').trim();
  return line.length > MAX_SHORT_CHARS ? `${line.slice(0, MAX_SHORT_CHARS)}…` : line;
}

/**
 * The arguments one by one: a text as it is, everything else as JSON.
 *
 * @param {Record<string, unknown>} input
 * @returns {{ name: string, value: string }[]}
 */
export function shownInput(input) {
  return Object.entries(input).map(([name, value]) => ({
    name,
    value: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
  }));
}

/**
 * What is to be done, every letter of it.
 *
 * @param {Record<string, unknown>} input
 */
export function wholeInput(input) {
  return shownInput(input)
    .map(({ name, value }) => (name === 'command' || name === 'path' ? value : `${name}: ${value}`))
    .join('\n');
}

/**
 * The beginning of a long text, and how many lines there are in all.
 *
 * @param {string} text
 * @returns {{ text: string, isCut: boolean, lines: number }}
 */
export function beginning(text) {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  if (lines.length <= MAX_LINES && text.length <= MAX_CHARS) {
    return { text, isCut: false, lines: lines.length };
  }
  const shown = lines.slice(0, MAX_LINES).join('\n').slice(0, MAX_CHARS);
  return { text: shown, isCut: true, lines: lines.length };
}

/**
 * The lines of a unified diff by what they mean; the names of the file are known from the row.
 *
 * @param {string} diff
 * @returns {{ kind: 'added' | 'removed' | 'place' | 'same', text: string }[]}
 */
export function diffLines(diff) {
  const lines = diff.replace(/\n$/, '').split('\n');
  const isHead = lines[0]?.startsWith('--- ') && lines[1]?.startsWith('+++ ');
  return lines.slice(isHead ? 2 : 0).map((text) => ({ kind: kindOf(text), text }));
}

/**
 * How many lines a unified diff adds and removes; null if a part of it is left out.
 *
 * @param {string} diff
 * @returns {{ added: number, removed: number } | null}
 */
export function countChanges(diff) {
  if (/^\[\.\.\. (?:\d+ characters left out|the diff is longer)/m.test(diff)) return null;
  const kinds = diffLines(diff).map(({ kind }) => kind);
  const count = (/** @type {string} */ wanted) => kinds.filter((kind) => kind === wanted).length;
  return { added: count('added'), removed: count('removed') };
}

/**
 * The hunks of a unified diff, each as a diff of its own.
 *
 * @param {string} diff
 * @returns {string[]}
 */
export function splitHunks(diff) {
  const lines = diffLines(diff).map(({ text }) => text);
  /** @type {string[][]} */
  const hunks = [];
  for (const line of lines) {
    if (line.startsWith('@@')) hunks.push([line]);
    else hunks.at(-1)?.push(line);
  }
  return hunks.map((hunk) => hunk.join('\n'));
}

/** @param {string} line */
function kindOf(line) {
  if (line.startsWith('@@')) return 'place';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : 'same';
}

/** @param {Record<string, unknown>} input */
function firstText(input) {
  return String(Object.values(input).find((value) => typeof value === 'string') ?? '');
}
