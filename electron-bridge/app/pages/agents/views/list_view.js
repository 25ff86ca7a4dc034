/** All sessions on all machines: those that wait for somebody first. */

import { formatAgo } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing, repeat } from '../../common/lit.js';
import { emptyState, loadingState } from '../../common/states.js';
import { sessionAddress } from '../address.js';
import { titleOf } from '../sessions/notices.js';
import { orderSessions, statusOf } from '../sessions/session_record.js';

/** @typedef {import('../sessions/session_record.js').SessionRecord} SessionRecord */
/** @typedef {import('../sessions/session_record.js').SessionStatus} SessionStatus */

/** @type {readonly SessionStatus[]} */
const GROUPS = Object.freeze(['waiting', 'running', 'done', 'away', 'archived']);
const BADGES = Object.freeze({
  waiting: 'warn',
  running: 'accent',
  done: 'good',
  away: '',
  archived: '',
});

/**
 * @param {import('../sessions/session_store.js').SessionStore} store
 * @param {{ currentId: string, isArchiveOpen: boolean }} state
 * @param {{ start: () => void, toggleArchive: () => void }} act
 */
export function listView(store, { currentId, isArchiveOpen }, act) {
  if (!store.isLoaded) return loadingState();
  if (store.sessions.size === 0) {
    return emptyState({
      title: t('agents.none'),
      text: t('agents.none.text'),
      action: startButton(act.start),
    });
  }
  const ordered = orderSessions(store.sessions.values());
  return html`<div class="session-groups">
      ${GROUPS.map((status) => {
        const members = ordered.filter((each) => statusOf(each) === status);
        if (members.length === 0) return nothing;
        const isFolded = status === 'archived' && !isArchiveOpen;
        return html`<section class="session-group" aria-labelledby="group-${status}">
          ${
            status === 'archived'
              ? archiveHead(members.length, isArchiveOpen, act.toggleArchive)
              : html`<h2 id="group-${status}" class="group-title">
                  ${t(`agents.group.${status}`)}
                </h2>`
          }
          <ul class="session-list" id="members-${status}" ?hidden=${isFolded}>
            ${repeat(
              isFolded ? [] : members,
              ({ id }) => id,
              (each) => row(each, status, each.id === currentId),
            )}
          </ul>
        </section>`;
      })}
    </div>
    <div class="list-foot">${startButton(act.start)}</div>`;
}

/**
 * @param {number} count
 * @param {boolean} isOpen
 * @param {() => void} toggle
 */
function archiveHead(count, isOpen, toggle) {
  return html`<h2 class="group-title" id="group-archived">
    <button
      class="button small quiet"
      type="button"
      aria-expanded=${String(isOpen)}
      aria-controls="members-archived"
      @click=${toggle}
    >
      ${icon(isOpen ? 'chevron-down' : 'chevron-right')} ${t('agents.group.archived', { count })}
    </button>
  </h2>`;
}

/**
 * @param {SessionRecord} session
 * @param {SessionStatus} status
 * @param {boolean} isCurrent
 */
function row(session, status, isCurrent) {
  const { id, host, folder, updatedAt, pendingTool } = session;
  return html`<li>
    <a
      class="session-row ${status}"
      href=${sessionAddress(id)}
      aria-current=${isCurrent ? 'page' : nothing}
    >
      <span class="session-row-head">
        <span class="session-name">${titleOf(session)}</span>
        <span class="badge ${BADGES[status]}">
          ${
            status === 'running'
              ? html`<span class="spinner" aria-hidden="true"></span>`
              : status === 'waiting'
                ? icon('question')
                : nothing
          }
          ${t(`agents.status.${status}`)}
        </span>
      </span>
      ${
        status === 'waiting'
          ? html`<span class="session-asks">${t('agents.asks', { tool: pendingTool })}</span>`
          : nothing
      }
      <span class="session-where">${host} · ${folder}</span>
      <span class="session-when">${formatAgo(updatedAt)}</span>
    </a>
  </li>`;
}

/** @param {() => void} start */
function startButton(start) {
  return html`<button class="button primary start-button" type="button" @click=${start}>
    ${icon('plus')} ${t('agents.start')}
  </button>`;
}
