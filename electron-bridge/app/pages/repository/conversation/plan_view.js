/** The plan of an agent as a checklist. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';

const SIGNS = Object.freeze(
  /** @type {const} */ ({ pending: 'stop', in_progress: 'play', completed: 'check' }),
);

/** @param {import('./agent_plan.js').Step[]} steps */
export function planView(steps) {
  if (steps.length === 0) return nothing;
  const done = steps.filter(({ status }) => status === 'completed').length;
  return html`<section class="agent-plan" aria-label=${t('plan.title')}>
    <p class="agent-plan-head">
      <strong>${t('plan.title')}</strong>
      <span class="faint">${t('plan.progress', { done, count: steps.length })}</span>
    </p>
    <ol class="agent-plan-steps">
      ${steps.map(
        ({ text, status }) =>
          html`<li class="agent-plan-step ${status}">
            ${icon(SIGNS[status])} <span>${text}</span>
            <span class="visually-hidden">${t(`plan.${status}`)}</span>
          </li>`,
      )}
    </ol>
  </section>`;
}
