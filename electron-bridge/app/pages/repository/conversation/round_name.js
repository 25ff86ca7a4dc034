/** What a round of an answer looks for, in a few words. */

import { t } from '../../common/i18n.js';

/** The kernel's name of its own first search, of kernel/codekernel/conversation/turn.py. */
export const FIRST_SEARCH = 'Looking for what the question names';

/**
 * @param {string} annotation in the words of the model, or of the kernel
 * @param {number} index
 */
export function roundName(annotation, index) {
  if (annotation === FIRST_SEARCH) return t('round.first');
  return annotation || t('round.name', { number: index + 1 });
}
