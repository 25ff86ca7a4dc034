/** A form in which a text is written: Enter sends, Shift+Enter begins a line. */

import { html, live } from './lit.js';

/**
 * @param {{ id: string, label: string, placeholder: string, rows: number, draft: string }} field
 * @param {{ write: (draft: string) => void, send: () => void }} act
 * @param {unknown} tools what stands below the text, with a button that submits
 */
export function composerForm({ id, label, placeholder, rows, draft }, act, tools) {
  return html`<form
    class="composer card"
    @submit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      act.send();
    }}
  >
    <label class="visually-hidden" for=${id}>${label}</label>
    <textarea
      id=${id}
      class="composer-input"
      rows=${rows}
      maxlength="100000"
      enterkeyhint="send"
      placeholder=${placeholder}
      .value=${live(draft)}
      @input=${(/** @type {any} */ { target }) => act.write(target.value)}
      @keydown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        act.send();
      }}
    ></textarea>
    ${tools}
  </form>`;
}
