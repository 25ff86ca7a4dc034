/** What a request to the hub is rejected with. */

import { hasText, t } from '../../common/i18n.js';

/** `code` of a request that got no answer at all. */
export const UNREACHABLE = 'unreachable';

export class HubFailure extends Error {
  /**
   * @param {string} code what the hub's answer is compared by
   * @param {string} message the hub's own words
   * @param {{ status?: number, retryAfterSeconds?: number }} [answer] `status` 0: there was none
   */
  constructor(code, message, { status = 0, retryAfterSeconds = 0 } = {}) {
    super(message);
    this.name = 'HubFailure';
    this.code = code;
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** Whether the same request may succeed later: no answer, or the hub or a machine is not ready. */
  get isTemporary() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/**
 * One sentence for a person.
 *
 * @param {unknown} failure
 */
export function explainHubFailure(failure) {
  if (!(failure instanceof HubFailure)) return String(failure);
  const key = `agents.failure.${failure.code}`;
  return hasText(key) ? t(key) : failure.message;
}
