/** Keys and the language of queries, for who asks. */

import { openDialog } from '../../common/dialog.js';
import { t } from '../../common/i18n.js';
import { html } from '../../common/lit.js';

const KEYS = Object.freeze([
  ['/', 'box'],
  ['↑ ↓ j k', 'move'],
  ['Enter', 'open'],
  ['Ctrl/⌘ Enter', 'edit'],
  ['→ ←', 'expand'],
  ['i', 'insight'],
  ['c', 'copy'],
  ['a', 'ask'],
  ['Ctrl/⌘ K', 'palette'],
  ['Esc', 'back'],
  ['?', 'help'],
]);

const SYNTAX = Object.freeze([
  ['lang:python,ts', 'lang'],
  ['path:src/auth  path:src/**/*.py', 'path'],
  ['-path:tests', 'not'],
  ['file:config', 'file'],
  ['kind:code', 'kind'],
  ['symbol:Session', 'symbol'],
  ['"exact string"', 'exact'],
  ['/regex/i', 'regex'],
  ['\\lang:x', 'escape'],
]);

export function showKeys() {
  openDialog({
    title: t('keys.title'),
    wide: true,
    body: ({ close }) =>
      html`<div class="dialog-body keys">
          <section>
            <h3>${t('keys.query')}</h3>
            <dl class="keys-list">
              ${SYNTAX.map(([text, name]) => row(html`<code>${text}</code>`, t(`syntax.${name}`)))}
            </dl>
            <p class="hint">${t('keys.trace')}</p>
          </section>
          <section>
            <h3>${t('keys.keys')}</h3>
            <dl class="keys-list">
              ${KEYS.map(([key, name]) => row(html`<kbd class="kbd">${key}</kbd>`, t(`key.${name}`)))}
            </dl>
          </section>
        </div>
        <div class="dialog-actions">
          <button class="button primary" type="button" autofocus @click=${() => close()}>
            ${t('act.close')}
          </button>
        </div>`,
  });
}

/**
 * @param {unknown} term
 * @param {string} meaning
 */
function row(term, meaning) {
  return html`<div>
    <dt>${term}</dt>
    <dd>${meaning}</dd>
  </div>`;
}
