/** Numbers, sizes and times as the page's language writes them. */

import { language, locale, t } from './i18n.js';

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @param {number} count */
export function formatCount(count) {
  return count.toLocaleString(locale());
}

/** @param {number} share 0 to 1 */
export function formatPercent(share) {
  return share.toLocaleString(locale(), { style: 'percent', maximumFractionDigits: 0 });
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  const step = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), 4);
  const value = bytes / 1000 ** step;
  return value.toLocaleString(locale(), {
    style: 'unit',
    unit: BYTE_UNITS[step],
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: value < 10 && step > 0 ? 1 : 0,
  });
}

/** @param {number} milliseconds since 1970 */
export function formatTime(milliseconds) {
  return new Date(milliseconds).toLocaleString(locale(), {
    dateStyle: 'medium',
    timeStyle: 'short',
  });
}

/** @param {string} day as 2026-01-31 */
export function formatDay(day) {
  const [year, month, date] = day.split('-').map(Number);
  return new Date(year, month - 1, date).toLocaleDateString(locale(), {
    month: 'short',
    day: 'numeric',
  });
}

/**
 * How long ago: "3 minutes ago", and after a month the date.
 *
 * @param {number} milliseconds since 1970
 * @param {number} [now]
 */
export function formatAgo(milliseconds, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - milliseconds) / 1000));
  if (seconds < MINUTE) return t('time.justNow');
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' });
  if (seconds < HOUR) return format.format(-Math.floor(seconds / MINUTE), 'minute');
  if (seconds < DAY) return format.format(-Math.floor(seconds / HOUR), 'hour');
  if (seconds < 30 * DAY) return format.format(-Math.floor(seconds / DAY), 'day');
  return new Date(milliseconds).toLocaleDateString(locale(), { dateStyle: 'medium' });
}

/**
 * How long: "2 h 5 min", "40 s"; never more than two units.
 *
 * @param {number} seconds
 */
export function formatDuration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < MINUTE) return unit(whole, 'second');
  if (whole < HOUR) return joinParts(whole, MINUTE, 'minute', 1, 'second');
  if (whole < DAY) return joinParts(whole, HOUR, 'hour', MINUTE, 'minute');
  return joinParts(whole, DAY, 'day', HOUR, 'hour');
}

/**
 * @param {number} whole
 * @param {number} large
 * @param {string} largeName
 * @param {number} small
 * @param {string} smallName
 */
function joinParts(whole, large, largeName, small, smallName) {
  const rest = Math.floor((whole % large) / small);
  const first = unit(Math.floor(whole / large), largeName);
  const gap = language() === 'zh' ? '' : ' ';
  return rest === 0 ? first : first + gap + unit(rest, smallName);
}

/**
 * @param {number} value
 * @param {string} name
 */
function unit(value, name) {
  return value.toLocaleString(locale(), { style: 'unit', unit: name, unitDisplay: 'short' });
}
