/** Keys of the insight: arrows lead from row to row, Escape back to the source or the list. */

const ROWS = 'button.insight-row, summary';

/** The first row, or the field while there is none. @param {Element | null | undefined} panel */
export function focusInsight(panel) {
  const first = panel?.querySelector(ROWS) ?? panel?.querySelector('input');
  /** @type {HTMLElement | null | undefined} */ (first)?.focus();
}

/**
 * @param {KeyboardEvent} event
 * @param {() => void} leave
 */
export function onInsightKey(event, leave) {
  if (event.key === 'Escape') leave();
  else if (event.key === 'ArrowDown') step(event, 1);
  else if (event.key === 'ArrowUp') step(event, -1);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/**
 * @param {KeyboardEvent} event
 * @param {1 | -1} by
 */
function step({ currentTarget, target }, by) {
  const panel = /** @type {HTMLElement} */ (currentTarget);
  const rows = /** @type {HTMLElement[]} */ ([...panel.querySelectorAll(ROWS)]);
  const at = rows.indexOf(/** @type {HTMLElement} */ (target));
  const next = at < 0 ? 0 : at + by;
  if (next < 0) panel.querySelector('input')?.focus();
  else rows[next]?.focus();
}
