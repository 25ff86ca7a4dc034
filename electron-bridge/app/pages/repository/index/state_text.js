/** The state of the index in words: a short line for the header, a sentence for its page. */

import { formatDuration, formatPercent } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { isQuiet, secondsLeft } from './progress.js';

/** @typedef {import('./status_watch.js').StatusWatch} StatusWatch */

const KNOWN = new Set([
  'starting',
  'recovering',
  'indexing',
  'embedding',
  'idle',
  'paused',
  'trouble',
  'read-only',
]);

/** Steps in which progress is read out: a voice that counts to a hundred is no help. */
const ANNOUNCED_STEP = 0.25;

/** @param {StatusWatch} watch */
export function shortLine(watch) {
  return lineWith(watch, watch.progress?.overall ?? 0);
}

/** @param {StatusWatch} watch */
export function announcedLine(watch) {
  const share = watch.progress?.overall ?? 0;
  return lineWith(watch, Math.floor(share / ANNOUNCED_STEP) * ANNOUNCED_STEP);
}

/** @param {StatusWatch} watch */
export function sentence({ status, progress }) {
  if (!status) return t('index.asking');
  const values = {
    files: status.files,
    chunks: status.chunks,
    waiting: status.filesWaiting,
    percent: formatPercent(progress?.overall ?? 0),
  };
  const text = t(`index.state.${status.cause || known(status.state)}`, values);
  const left = isQuiet(status) || status.state === 'paused' ? null : secondsLeft(status);
  return !left ? text : `${text} ${t('index.left', { time: formatDuration(left) })}`;
}

/**
 * @param {StatusWatch} watch
 * @param {number} share
 */
function lineWith({ status, failure, session }, share) {
  if (!session.isPrepared) return t(`line.${session.now.state}`);
  if (!status) return failure ? t('line.unknown') : t('line.asking');
  if (status.cause) return t(`line.${status.cause}`);
  if (status.trouble && status.state !== 'read-only') return t('line.trouble');
  const percent = formatPercent(share);
  if (status.state === 'idle') return t('line.idle', { count: status.files });
  return t(`line.${known(status.state)}`, { percent });
}

/** @param {string} state a newer kernel may know more of them */
function known(state) {
  return KNOWN.has(state) ? state : 'indexing';
}
