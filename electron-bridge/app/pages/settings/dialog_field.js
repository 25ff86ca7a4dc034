/** A line of text in a dialog: label, box, and a note that says what is meant or what is wrong. */

import { html, live, nothing } from '../common/lit.js';

/**
 * @typedef {object} DialogField
 * @property {string} id
 * @property {string} label
 * @property {string} value
 * @property {(value: string) => void} write
 * @property {() => void} [leave] what was written is whole
 * @property {() => void} [enter]
 * @property {unknown} [note]
 * @property {boolean} [isWrong] the note says why
 * @property {boolean} [isSecret]
 * @property {boolean} [isFirst] it has the focus when the dialog opens
 * @property {string} [placeholder]
 * @property {unknown} [beside] what stands at the end of its line
 * @property {unknown} [below] what stands between it and the note
 */

/** @param {DialogField} field */
export function dialogField({ id, label, note, isWrong, beside, below = nothing, ...rest }) {
  const box = input({ id, label, note, isWrong, ...rest });
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${beside ? html`<div class="folder-row">${box} ${beside}</div>` : box} ${below}
    ${
      note
        ? html`<p id="${id}-note" class=${isWrong ? 'field-problem' : 'hint'} role="status">
            ${note}
          </p>`
        : nothing
    }
  </div>`;
}

/** @param {DialogField} field */
function input({ id, value, write, leave, enter, note, isWrong, isSecret, isFirst, placeholder }) {
  return html`<input
    id=${id}
    class="input"
    type=${isSecret ? 'password' : 'text'}
    autocomplete="off"
    spellcheck="false"
    ?autofocus=${isFirst}
    placeholder=${placeholder ?? nothing}
    aria-describedby=${note ? `${id}-note` : nothing}
    aria-invalid=${isWrong ? 'true' : 'false'}
    .value=${live(value)}
    @input=${(/** @type {any} */ { target }) => write(target.value)}
    @change=${() => leave?.()}
    @focus=${() => enter?.()}
  />`;
}
