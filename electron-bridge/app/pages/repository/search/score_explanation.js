/** Why a result stands where it stands: the parts of its score. */

import { hasText, locale, t } from '../../common/i18n.js';
import { html } from '../../common/lit.js';

/**
 * @param {Record<string, number>} why
 * @param {number} score
 */
export function whyPanel(why, score) {
  const parts = Object.entries(why).sort(([, one], [, other]) => Math.abs(other) - Math.abs(one));
  const largest = Math.max(...parts.map(([, value]) => Math.abs(value)), 1e-9);
  return html`<div class="why">
    <p class="faint">${t('why.intro', { score: number(score) })}</p>
    <dl class="why-parts">
      ${parts.map(
        ([name, value]) =>
          html`<div class="why-part">
            <dt>${nameOf(name)}</dt>
            <dd>
              <span class="why-track" aria-hidden="true"
                ><span
                  class=${value < 0 ? 'why-bar against' : 'why-bar'}
                  .style=${`width:${(Math.abs(value) / largest) * 100}%`}
                ></span
              ></span>
              <span class="why-value">${value > 0 ? '+' : ''}${number(value)}</span>
            </dd>
          </div>`,
      )}
    </dl>
  </div>`;
}

/** @param {string} name a newer kernel may know more of them */
function nameOf(name) {
  const key = `why.part.${name.replaceAll(' ', '-')}`;
  return hasText(key) ? t(key) : name;
}

/** @param {number} value */
function number(value) {
  return value.toLocaleString(locale(), { maximumFractionDigits: 3 });
}
