/** The frame of a section of the settings. */

import { t } from '../common/i18n.js';
import { html } from '../common/lit.js';

export const SECTIONS = Object.freeze(['search', 'models', 'conversation', 'performance']);

/**
 * @param {string} name one of SECTIONS
 * @param {unknown} content
 */
export function section(name, content) {
  return html`<section class="card settings-section" id=${name} aria-labelledby="${name}-title">
    <div class="card-head">
      <h2 id="${name}-title">${t(`settings.${name}`)}</h2>
      <p class="hint">${t(`settings.${name}.hint`)}</p>
    </div>
    <div class="card-body settings-body">${content}</div>
  </section>`;
}
