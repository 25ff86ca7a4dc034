/** What is at work anywhere, in the bar of every page, and the way there. */

import { t } from './i18n.js';
import { icon } from './icons.js';
import { html, nothing } from './lit.js';
import { opensPage, pageAddress } from './navigation.js';
import { runningTurns } from './running.js';
import { toastFailure } from './toast.js';

/** @typedef {import('./running.js').RunningTurn} RunningTurn */

const LIST_ID = 'running-list';

/** One turn is a link to it; several are a list of links. */
export function runningBadge() {
  const turns = runningTurns();
  if (turns.length === 0) return nothing;
  const text = t('bar.running', { count: turns.length });
  return html`<span class="visually-hidden" role="status">${text}</span>${
      turns.length === 1 ? oneLink(turns[0], text) : listButton(turns, text)
    }`;
}

/**
 * @param {RunningTurn} turn
 * @param {string} text
 */
function oneLink(turn, text) {
  return html`<a
    class="running-badge"
    href=${pageAddress('repository', placeOf(turn))}
    title=${`${turn.repoName}: ${turn.topic}`}
    @click=${opensPage('repository', { ...placeOf(turn), failed: toastFailure })}
    ><span class="spinner" aria-hidden="true"></span>${text}</a
  >`;
}

/**
 * @param {readonly RunningTurn[]} turns
 * @param {string} text
 */
function listButton(turns, text) {
  return html`<button class="running-badge" type="button" popovertarget=${LIST_ID}>
      <span class="spinner" aria-hidden="true"></span>${text}${icon('chevron-down')}
    </button>
    <div class="running-list" id=${LIST_ID} popover>
      <ul aria-label=${text}>
        ${turns.map((turn) => html`<li>${listLink(turn)}</li>`)}
      </ul>
    </div>`;
}

/** @param {RunningTurn} turn */
function listLink(turn) {
  const open = opensPage('repository', { ...placeOf(turn), failed: toastFailure });
  return html`<a
    href=${pageAddress('repository', placeOf(turn))}
    @click=${(/** @type {MouseEvent} */ event) => {
      document.getElementById(LIST_ID)?.hidePopover();
      open(event);
    }}
    ><span class="running-repo">${turn.repoName}</span
    ><span class="running-kind faint">${t(turn.isAgent ? 'bar.agent' : 'bar.answer')}</span
    ><span class="running-topic">${turn.topic}</span></a
  >`;
}

/** @param {RunningTurn} turn */
function placeOf({ repoName, conversation }) {
  return { repoName, part: 'talk', conversation };
}
