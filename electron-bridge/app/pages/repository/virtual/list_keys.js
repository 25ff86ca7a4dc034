/** Which row a key leads to. Pure. */

/** @typedef {{ key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean }} Key */

/**
 * @param {Key} event
 * @param {{ active: number, count: number, page: number }} list `page`: rows that are in sight
 * @returns {number | null} -1: out of the list, at its top; null: the key moves nothing
 */
export function destination(event, { active, count, page }) {
  if (count === 0 || event.ctrlKey || event.metaKey || event.altKey) return null;
  const within = (/** @type {number} */ index) => Math.max(0, Math.min(index, count - 1));
  switch (event.key) {
    case 'ArrowDown':
    case 'j':
      return within(active + 1);
    case 'ArrowUp':
    case 'k':
      return active - 1;
    case 'PageDown':
      return within(active + page);
    case 'PageUp':
      return within(active - page);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return null;
  }
}
