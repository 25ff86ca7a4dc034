/** What Markdown's text means: `&lt;` is a smaller-than sign there. Pure. */

const ENTITY = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,6}));/g;
/** Those that people and models write; others stay as they are. */
const NAMED = new Map(
  Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    nbsp: '\u00a0',
    ndash: '–',
    mdash: '—',
    hellip: '…',
    rarr: '→',
    larr: '←',
    times: '×',
    copy: '©',
  }),
);

/** @param {string} text */
export function decodeEntities(text) {
  return text.includes('&') ? text.replace(ENTITY, decodeEntity) : text;
}

/**
 * @param {string} all
 * @param {string | undefined} decimal
 * @param {string | undefined} hex
 * @param {string | undefined} name
 */
function decodeEntity(all, decimal, hex, name) {
  if (name) return NAMED.get(name) ?? all;
  const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16);
  const isLetter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isLetter ? String.fromCodePoint(code) : all;
}
