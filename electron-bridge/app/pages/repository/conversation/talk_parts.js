/** Small parts of the conversation tab as templates: its beginning, and buttons. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { emptyState } from '../../common/states.js';

/** What the question box offers to begin with. */
const EXAMPLES = ['first', 'second', 'third'];

/**
 * @param {{ isAgent: boolean, repoName: string, hasModel: boolean }} state
 * @param {(query: string) => void} offer
 */
export function beginning({ isAgent, repoName, hasModel }, offer) {
  const kind = isAgent ? 'agent' : 'ask';
  return emptyState({
    title: t(`start.${kind}.title`, { name: repoName }),
    text: t(`start.${kind}.text`),
    action: hasModel
      ? html`<div class="talk-examples">
          ${EXAMPLES.map((name) => {
            const query = t(`start.${kind}.${name}`);
            return html`<button class="button" type="button" @click=${() => offer(query)}>
              ${query}
            </button>`;
          })}
        </div>`
      : nothing,
  });
}

/** @param {() => void} toEnd */
export function endButton(toEnd) {
  return html`<button class="button small talk-to-end" type="button" @click=${toEnd}>
    ${icon('chevron-down')} ${t('talk.toEnd')}
  </button>`;
}

/** @param {() => void} exportTalk */
export function exportButton(exportTalk) {
  return html`<button
    class="button small quiet talk-export"
    type="button"
    title=${t('talk.export.hint')}
    @click=${exportTalk}
  >
    ${icon('external')} ${t('talk.export')}
  </button>`;
}

/**
 * What the model is given of a conversation; '' if that is everything.
 *
 * @param {import('./models.js').Memory | null} memory
 * @param {(count: number) => string} format
 */
export function memoryText(memory, format) {
  if (!memory?.used) return '';
  const figures = { used: format(memory.used), most: format(memory.most) };
  return t(memory.isCut ? 'ask.memory.cut' : 'ask.memory', figures);
}
