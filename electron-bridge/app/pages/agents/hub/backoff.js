/** How long to wait before the next attempt to connect, as the client contract says. Pure. */

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;
/** So that a hundred devices do not come back in the same moment. */
const MAX_JITTER_MS = 500;
/** After so many attempts, only every five minutes. */
const MAX_QUICK_ATTEMPTS = 8;
const SLOW_DELAY_MS = 300_000;

/**
 * @param {number} attempt how many have failed, from 1
 * @param {() => number} [random]
 */
export function delayBefore(attempt, random = Math.random) {
  if (attempt <= 1) return 0;
  if (attempt > MAX_QUICK_ATTEMPTS) return SLOW_DELAY_MS;
  return Math.min(FIRST_DELAY_MS * 2 ** (attempt - 2), MAX_DELAY_MS) + random() * MAX_JITTER_MS;
}
