/** What an agent thinks, and what it was reminded of, as templates. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';

/** @typedef {import('./agent_run.js').TextItem} TextItem */

/**
 * A thought is collapsed at first.
 *
 * @param {TextItem} item
 * @param {{ isOpen: boolean, number: number }} held
 * @param {{ toggle: () => void }} act
 */
export function thoughtView({ text }, { isOpen, number }, { toggle }) {
  const id = `thought-${number}`;
  return html`<button
      class="thought-toggle"
      type="button"
      aria-expanded=${String(isOpen)}
      aria-controls=${id}
      @click=${toggle}
    >
      ${icon(isOpen ? 'chevron-down' : 'chevron-right')}
      <span>${t('agent.thinking')}</span>
      ${isOpen ? nothing : html`<span class="thought-begin faint">${firstLine(text)}</span>`}
    </button>
    <div class="thought-text" id=${id} ?hidden=${!isOpen}>${isOpen ? text : nothing}</div>`;
}

/** A reminder to go on with the plan; its words are the model's, what is open is in the list. */
export function noteView() {
  return html`<p class="agent-note-text">${icon('info')} <span>${t('agent.reminded')}</span></p>`;
}

/** @param {string} text */
function firstLine(text) {
  return text.trimStart().split('\n', 1)[0].slice(0, 160);
}
