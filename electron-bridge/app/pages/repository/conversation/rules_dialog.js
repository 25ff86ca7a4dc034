/** What agents may do here without being asked, each removable. */

import { openDialog } from '../../common/dialog.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { kernel } from '../../common/kernel.js';
import { html } from '../../common/lit.js';
import { toastFailure } from '../../common/toast.js';

/** @typedef {import('../../../../types/protocol.d.ts').PermissionRuleEntry} Rule */

/** @param {readonly Rule[]} rules */
export async function showRules(rules) {
  let left = [...rules];
  await openDialog({
    title: t('rules.title'),
    body: ({ close, draw }) => {
      const remove = async (/** @type {Rule} */ { id }) => {
        try {
          await kernel.deletePermissionRule({ id });
          left = left.filter((rule) => rule.id !== id);
          draw();
        } catch (failure) {
          toastFailure(failure);
        }
      };
      return html`<div class="dialog-body">
          <p class="hint">${t(left.length ? 'rules.hint' : 'rules.none')}</p>
          <ul class="rule-list">
            ${left.map(
              (rule) =>
                html`<li class="spread">
                  <span>${t(`rules.${rule.danger}`)} <code>${rule.rule}</code></span>
                  <button
                    class="button small quiet icon"
                    type="button"
                    aria-label=${t('rules.remove', { rule: rule.rule })}
                    @click=${() => remove(rule)}
                  >
                    ${icon('trash')}
                  </button>
                </li>`,
            )}
          </ul>
        </div>
        <div class="dialog-actions">
          <button class="button" type="button" autofocus @click=${() => close()}>
            ${t('act.close')}
          </button>
        </div>`;
    },
  });
}
