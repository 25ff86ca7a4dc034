/** The lines of a result that are in sight. Pure. */

/**
 * @param {string} content
 * @param {number} count
 * @returns {string} its first lines, with the last line's end
 */
export function firstLines(content, count) {
  let end = 0;
  for (let line = 0; line < count; line += 1) {
    const next = content.indexOf('\n', end);
    if (next < 0) return content;
    end = next + 1;
  }
  return content.slice(0, end);
}
