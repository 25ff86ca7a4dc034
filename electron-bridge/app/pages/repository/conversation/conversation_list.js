/** The conversations about this repository, newest first. */

import { formatAgo } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing, repeat } from '../../common/lit.js';
import { failureState } from '../../common/states.js';

/** @typedef {import('../../../../types/protocol.d.ts').ConversationEntry} Entry */

/**
 * @param {{
 *   entries: readonly Entry[] | null,
 *   failure: unknown,
 *   currentId: number | null,
 *   running: ReadonlySet<number>,
 * }} state
 * @param {{
 *   begin: () => void,
 *   open: (id: number) => void,
 *   remove: (entry: Entry) => void,
 *   retry: () => void,
 * }} act
 */
export function conversationList({ entries, failure, currentId, running }, act) {
  return html`<div class="talks-head">
      <h2>${t('talks.title')}</h2>
      <button class="button small" type="button" @click=${act.begin}>
        ${icon('plus')} ${t('talks.new')}
      </button>
    </div>
    ${failure ? failureState(failure, { retry: act.retry }) : nothing}
    ${entries?.length === 0 ? html`<p class="talks-empty faint">${t('talks.empty')}</p>` : nothing}
    <ul class="talks-list">
      ${repeat(
        entries ?? [],
        ({ conversationId }) => conversationId,
        (entry) => row(entry, { currentId, running }, act),
      )}
    </ul>`;
}

/**
 * @param {Entry} entry
 * @param {{ currentId: number | null, running: ReadonlySet<number> }} state
 * @param {{ open: (id: number) => void, remove: (entry: Entry) => void }} act
 */
function row(entry, { currentId, running }, { open, remove }) {
  const { conversationId, topic, time, turns, unsaved, damaged } = entry;
  const isCurrent = conversationId === currentId;
  return html`<li class=${isCurrent ? 'talk-row current' : 'talk-row'}>
    <button
      class="talk-open"
      type="button"
      aria-current=${isCurrent ? 'true' : nothing}
      @click=${() => open(conversationId)}
    >
      <span class="talk-topic">${topic}</span>
      <span class="faint">
        ${
          running.has(conversationId)
            ? html`<span class="spinner" aria-hidden="true"></span> ${t('talks.running')}`
            : `${formatAgo(time)} · ${t('talks.turns', { count: turns })}`
        }
      </span>
      ${unsaved ? html`<span class="badge warn">${t('talks.unsaved')}</span>` : nothing}
      ${damaged ? html`<span class="badge warn" title=${damaged}>${t('talks.damaged')}</span>` : nothing}
    </button>
    <button
      class="button small quiet icon talk-remove"
      type="button"
      aria-label=${t('talks.delete', { topic })}
      title=${t('talks.delete.short')}
      @click=${() => remove(entry)}
    >
      ${icon('trash')}
    </button>
  </li>`;
}
