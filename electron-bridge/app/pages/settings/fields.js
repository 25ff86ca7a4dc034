/** Fields of a form: label, control, hint, and what is wrong with it. */

import { html, live, nothing } from '../common/lit.js';

/** @typedef {import('./store.js').SettingsStore} SettingsStore */

/**
 * @typedef {object} FieldOptions
 * @property {string} label
 * @property {unknown} [hint]
 * @property {string} [placeholder]
 * @property {(value: string) => void} [after] called when the field loses the focus
 */

/**
 * @param {SettingsStore} store
 * @param {string} path
 * @param {FieldOptions} options
 */
export function textField(store, path, options) {
  return inputField(store, path, options, 'input', 'text');
}

/**
 * @param {SettingsStore} store
 * @param {string} path
 * @param {FieldOptions} options
 */
export function numberField(store, path, options) {
  return inputField(store, path, options, 'input number', 'decimal');
}

/**
 * @param {SettingsStore} store
 * @param {string} path
 * @param {FieldOptions & { choices: { value: string, label: string }[] }} options
 */
export function selectField(store, path, { label, hint, choices }) {
  const chosen = store.value(path);
  return framed(
    store,
    path,
    { label, hint },
    (attributes) =>
      html`<select
        class="select"
        id=${attributes.id}
        aria-describedby=${attributes.describedBy}
        aria-invalid=${attributes.invalid}
        @change=${(/** @type {any} */ { target }) => store.set(path, target.value)}
      >
        ${choices.map(
          ({ value, label: text }) =>
            html`<option value=${value} .selected=${live(value === chosen)}>${text}</option>`,
        )}
      </select>`,
  );
}

/**
 * @param {SettingsStore} store
 * @param {string} path
 * @param {{ label: unknown, hint?: unknown, isDisabled?: boolean }} options
 */
export function checkField(store, path, { label, hint, isDisabled = false }) {
  const id = idOf(path);
  const problem = problemAt(store, path);
  return html`<div class="field" data-path=${path}>
    <div class="check">
      <input
        id=${id}
        type="checkbox"
        aria-describedby=${hint || problem ? `${id}-note` : nothing}
        aria-invalid=${problem ? 'true' : 'false'}
        ?disabled=${isDisabled}
        .checked=${live(Boolean(store.value(path)))}
        @change=${(/** @type {any} */ { target }) => store.set(path, target.checked)}
      />
      <label for=${id}>${label}</label>
    </div>
    ${note(id, hint, problem)}
  </div>`;
}

/**
 * @param {SettingsStore} store
 * @param {string} path
 * @param {FieldOptions} options
 * @param {string} kind
 * @param {'text' | 'decimal'} mode
 */
function inputField(store, path, { label, hint, placeholder, after }, kind, mode) {
  return framed(
    store,
    path,
    { label, hint },
    (attributes) =>
      html`<input
        class=${kind}
        id=${attributes.id}
        aria-describedby=${attributes.describedBy}
        aria-invalid=${attributes.invalid}
        inputmode=${mode}
        autocomplete="off"
        spellcheck="false"
        placeholder=${placeholder ?? nothing}
        .value=${live(String(store.value(path) ?? ''))}
        @input=${(/** @type {any} */ { target }) => store.set(path, target.value)}
        @change=${(/** @type {any} */ { target }) => after?.(target.value)}
      />`,
  );
}

/**
 * @param {SettingsStore} store
 * @param {string} path
 * @param {{ label: string, hint?: unknown }} options
 * @param {(attributes: { id: string, describedBy: any, invalid: 'true' | 'false' }) => unknown} control
 */
export function framed(store, path, { label, hint }, control) {
  const id = idOf(path);
  const problem = problemAt(store, path);
  return html`<div class="field" data-path=${path}>
    <label for=${id}>${label}</label>
    ${control({
      id,
      describedBy: hint || problem ? `${id}-note` : nothing,
      invalid: problem ? 'true' : 'false',
    })}
    ${note(id, hint, problem)}
  </div>`;
}

/**
 * @param {SettingsStore} store
 * @param {string} path
 */
export function problemAt(store, path) {
  store.fieldPaths.add(path);
  return store.problems.get(path);
}

/**
 * @param {string} id
 * @param {unknown} hint
 * @param {string | undefined} problem
 */
function note(id, hint, problem) {
  if (problem) return html`<p class="field-problem" id="${id}-note">${problem}</p>`;
  return hint ? html`<p class="hint" id="${id}-note">${hint}</p>` : nothing;
}

/** @param {string} path */
export function idOf(path) {
  return `field-${path.replace(/[^\w]+/g, '-')}`;
}
