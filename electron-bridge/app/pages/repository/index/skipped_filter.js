/** Which of the files that were left out are shown. Pure. */

/** @typedef {{ filePath: string, reason: string, detail: string }} Skipped */

/**
 * @param {readonly Skipped[]} skipped
 * @param {{ reason: string, text: string }} filter '' means any
 * @returns {Skipped[]}
 */
export function matchingSkipped(skipped, { reason, text }) {
  const wanted = text.trim().toLowerCase();
  return skipped.filter(
    (one) =>
      (reason === '' || one.reason === reason) &&
      (wanted === '' || `${one.filePath}\n${one.detail}`.toLowerCase().includes(wanted)),
  );
}
