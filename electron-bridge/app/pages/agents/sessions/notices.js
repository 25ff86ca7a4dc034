/** Notices that an agent waits or is done, while nobody looks at the page. */

import { t } from '../../common/i18n.js';
import { readPreference, savePreference } from '../../common/preferences.js';
import { statusOf } from './session_record.js';

/** @typedef {import('./session_record.js').SessionRecord} SessionRecord */
/** @typedef {{ kind: 'waits' | 'done', session: SessionRecord }} Notice */

const PREFERENCE = 'hub.notices';

/**
 * @param {SessionRecord | undefined} before
 * @param {SessionRecord} now
 * @param {boolean} isListed whether the list of sessions was read before: one that is first seen
 *   after it is news, also if it waits already
 * @returns {Notice | null} one that is due
 */
export function findNotice(before, now, isListed) {
  const is = statusOf(now);
  if (!before) return isListed && is === 'waiting' ? { kind: 'waits', session: now } : null;
  const was = statusOf(before);
  if (is === 'waiting' && (was !== 'waiting' || isAnother(before, now))) {
    return { kind: 'waits', session: now };
  }
  return is === 'done' && before.isThinking ? { kind: 'done', session: now } : null;
}

/**
 * @param {SessionRecord} before
 * @param {SessionRecord} now
 */
function isAnother(before, now) {
  if (!before.requests || !now.requests) return now.pendingCount > before.pendingCount;
  const known = new Set(before.requests.map(({ id }) => id));
  return now.requests.some(({ id }) => !known.has(id));
}

/** @returns {'unsupported' | 'blocked' | 'off' | 'on'} */
export function noticesState() {
  if (!('Notification' in globalThis)) return 'unsupported';
  if (Notification.permission === 'denied') return 'blocked';
  return Notification.permission === 'granted' && readPreference(PREFERENCE) === 'on'
    ? 'on'
    : 'off';
}

/** Ask for the browser's permission, after a click alone, or switch notices off. */
export async function toggleNotices() {
  const isOn = noticesState() === 'on';
  if (!isOn && Notification.permission === 'default') await Notification.requestPermission();
  savePreference(PREFERENCE, isOn || Notification.permission !== 'granted' ? 'off' : 'on');
}

/** @param {Notice} notice */
export async function showNotice({ kind, session }) {
  if (noticesState() !== 'on') return;
  const title = t(`agents.notice.${kind}`, { name: titleOf(session) });
  const options = {
    body: kind === 'waits' ? session.pendingTool : session.folder,
    tag: session.id,
  };
  const worker = await navigator.serviceWorker?.getRegistration();
  if (worker?.active) {
    await worker.showNotification(title, { ...options, data: { sessionId: session.id } });
    return;
  }
  const shown = new Notification(title, options);
  shown.addEventListener('click', () => {
    window.focus();
    location.hash = `#/session/${encodeURIComponent(session.id)}`;
    shown.close();
  });
}

/** @param {SessionRecord} session */
export function titleOf({ name, folder }) {
  return name || folder.split(/[\\/]/).filter(Boolean).at(-1) || t('agents.untitled');
}
