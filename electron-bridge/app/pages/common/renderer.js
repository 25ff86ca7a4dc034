/** A part of the page that is drawn from its state: once per burst of changes, in any language. */

import { onLanguageChange } from './i18n.js';
import { render } from './lit.js';

/**
 * @param {HTMLElement} container
 * @param {() => unknown} template
 * @returns {() => void} call it after every change of what the template reads
 */
export function makeRenderer(container, template) {
  let isWaiting = false;
  const now = () => {
    isWaiting = false;
    render(template(), container);
  };
  const draw = () => {
    if (isWaiting) return;
    isWaiting = true;
    queueMicrotask(now);
  };
  onLanguageChange(draw);
  now();
  return draw;
}
