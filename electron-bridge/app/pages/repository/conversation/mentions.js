/** Names after an @ in a question: files, places in them, symbols. Pure. */

const MENTION = /(?<![\p{L}\p{N}_@])@([^\s@`"'()[\]{}<>]{2,300})/gu;
/** What is being written at the caret. */
const UNFINISHED = /(?<![\p{L}\p{N}_@])@([^\s@`"'()[\]{}<>]{0,100})$/u;

/** @typedef {{ value: string, from: number, to: number }} Mention */

/**
 * @param {string} draft
 * @returns {Mention[]}
 */
export function mentionsIn(draft) {
  return [...draft.matchAll(MENTION)].map((match) => {
    const value = match[1].replace(/[.,;:!?]+$/, '');
    return { value, from: match.index, to: match.index + 1 + value.length };
  });
}

/**
 * What is being written at the caret; null if that is no name.
 *
 * @param {string} draft
 * @param {number} caret
 * @returns {Mention | null}
 */
export function mentionAt(draft, caret) {
  const match = UNFINISHED.exec(draft.slice(0, caret));
  return match && { value: match[1], from: match.index, to: caret };
}

/**
 * @param {string} draft
 * @param {Mention} place what is replaced
 * @param {string} value '' takes the mention away
 * @returns {{ draft: string, caret: number }}
 */
export function putMention(draft, { from, to }, value) {
  const behind = draft.slice(to);
  const text = value && `@${value}${behind.startsWith(' ') ? '' : ' '}`;
  const rest = value ? behind : behind.replace(/^ /, '');
  return { draft: draft.slice(0, from) + text + rest, caret: from + text.length };
}

/**
 * What to offer for these results: the files, then the symbols in them.
 *
 * @param {readonly { filePath: string, beginLine: number, endLine: number, symbol: string }[]} results
 * @returns {{ value: string, label: string, detail: string }[]}
 */
export function suggestionsOf(results) {
  const files = [...new Set(results.map(({ filePath }) => filePath))];
  const symbols = results.filter(({ symbol }) => symbol);
  const offered = [
    ...files.slice(0, 4).map((path) => ({ value: path, label: path, detail: '' })),
    ...symbols.slice(0, 6).map(({ filePath, beginLine, endLine, symbol }) => ({
      value: `${filePath}:${beginLine + 1}-${endLine}`,
      label: symbol,
      detail: `${filePath}:${beginLine + 1}`,
    })),
  ];
  // A path with a space cannot be told from the words behind it.
  return [...new Map(offered.map((one) => [one.value, one])).values()].filter(
    ({ value }) => !/\s/.test(value),
  );
}
