/** Questions in front of the page: native `<dialog>`, focus given and given back, Escape closes. */

import { t } from './i18n.js';
import { html, nothing, render } from './lit.js';

let lastNumber = 0;

/**
 * @template Value
 * @typedef {object} DialogHandle
 * @property {(value?: Value) => void} close ends the dialog with this answer
 * @property {() => void} draw call it after a change of what the body reads
 */

/**
 * Show a dialog until it is closed. `autofocus` in the body says what has the focus first.
 *
 * @template Value
 * @param {{
 *   title: string,
 *   body: (handle: DialogHandle<Value>) => unknown,
 *   wide?: boolean,
 *   alert?: boolean,
 * }} what
 * @returns {Promise<Value | undefined>} undefined if it was dismissed
 */
export function openDialog({ title, body, wide = false, alert = false }) {
  const element = document.createElement('dialog');
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  lastNumber += 1;
  const titleId = `dialog-title-${lastNumber}`;
  element.className = wide ? 'dialog wide' : 'dialog';
  element.setAttribute('aria-labelledby', titleId);
  if (alert) element.setAttribute('role', 'alertdialog');
  return new Promise((resolve) => {
    /** @type {Value | undefined} */
    let answer;
    const handle = {
      close: (/** @type {Value | undefined} */ value) => {
        answer = value;
        element.close();
      },
      draw: () =>
        render(
          html`<h2 class="dialog-title" id=${titleId}>${title}</h2>
            ${body(handle)}`,
          element,
        ),
    };
    element.addEventListener('close', () => {
      element.remove();
      if (before?.isConnected) before.focus();
      resolve(answer);
    });
    handle.draw();
    document.body.append(element);
    element.showModal();
  });
}

/**
 * A question with yes and no.
 *
 * @param {{ title: string, text: unknown, confirm: string, danger?: boolean }} question
 *   `text` may be a template; with `danger` the way back has the focus
 * @returns {Promise<boolean>}
 */
export async function confirmDialog({ title, text, confirm, danger = false }) {
  const answer = await openDialog({
    title,
    alert: true,
    body: ({ close }) =>
      html`<div class="dialog-body">${text}</div>
        <div class="dialog-actions">
          <button class="button" type="button" ?autofocus=${danger} @click=${() => close()}>
            ${t('act.cancel')}
          </button>
          <button
            class="button ${danger ? 'danger' : 'primary'}"
            type="button"
            ?autofocus=${!danger}
            @click=${() => close(true)}
          >
            ${confirm}
          </button>
        </div>`,
  });
  return answer === true;
}

/**
 * The buttons below a form in a dialog.
 *
 * @param {{ submit: string, busy?: boolean, close: () => void, danger?: boolean }} what
 */
export function formActions({ submit, busy = false, close, danger = false }) {
  return html`<div class="dialog-actions">
    <button class="button" type="button" @click=${() => close()}>${t('act.cancel')}</button>
    <button class="button ${danger ? 'danger' : 'primary'}" type="submit" ?disabled=${busy}>
      ${busy ? html`<span class="spinner" aria-hidden="true"></span>` : nothing} ${submit}
    </button>
  </div>`;
}
