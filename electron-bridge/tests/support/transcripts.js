/** The transcripts of PROTOCOL.md, read as data; as tests/support/transcripts.py reads them. */

import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../../PROTOCOL.md', import.meta.url);
const BLOCK = /^```transcript (\w+)(?: in session (\d+))?\n(.*?)^```$/gms;

const ANY_ID = -424242;
const ANY_SENTENCE = '...';
const ANY_FLAG = '$bool';
const ANY_TEXT = '$text';
const ANY_LIST = '$list';

/** `>` the front end says, `<` the kernel says, `!` something happens outside. */
export function transcripts() {
  const found = [...readFileSync(DOCUMENT, 'utf8').matchAll(BLOCK)];
  return found.map(([, name, session, body]) => ({
    name,
    session: session === undefined ? null : Number(session),
    steps: body
      .trimEnd()
      .split('\n')
      .map((line) => ({ who: line[0], text: line.slice(2) })),
  }));
}

/** The text with `$NAME` replaced by what stands for it, inside JSON strings. */
export function fillPlaceholders(text, values) {
  let filled = text;
  for (const [name, value] of Object.entries(values)) {
    filled = filled.replaceAll(`$${name}`, () => JSON.stringify(value).slice(1, -1));
  }
  return filled
    .replaceAll('$id', String(ANY_ID))
    .replaceAll('$bool', () => JSON.stringify(ANY_FLAG));
}

/** Whether the kernel said what the transcript says, placeholders considered. */
export function matches(expected, actual) {
  if (expected === ANY_ID) return Number.isInteger(actual) && actual !== -1;
  if (expected === ANY_SENTENCE) {
    return typeof actual === 'string' && actual.length > ANY_SENTENCE.length;
  }
  if (expected === ANY_FLAG) return typeof actual === 'boolean';
  if (expected === ANY_TEXT) return typeof actual === 'string';
  if (expected === ANY_LIST) return Array.isArray(actual);
  if (!isCompound(expected) || !isCompound(actual)) return expected === actual;
  if (Array.isArray(expected) !== Array.isArray(actual)) return false;
  const keys = Object.keys(expected).sort();
  return (
    keys.join() === Object.keys(actual).sort().join() &&
    keys.every((key) => matches(expected[key], actual[key]))
  );
}

function isCompound(value) {
  return value !== null && typeof value === 'object';
}
