/** Toasts: short messages at the edge of the page, announced by screen readers. */

import { explain } from './failures.js';
import { t } from './i18n.js';
import { html, nothing, render, repeat } from './lit.js';

/** Long enough to read two lines; pointing at them or focusing them stops the clock. */
const DURATION_MS = 5000;
const FAILURE_DURATION_MS = 12_000;
const MAX_TOASTS = 4;

/**
 * @typedef {object} ToastOptions
 * @property {'info' | 'success' | 'failure'} [kind]
 * @property {string} [detail] a second line
 * @property {{ label: string, run: () => void }} [action]
 */

/** @type {{ key: number, text: string, options: ToastOptions }[]} */
let shown = [];
/** @type {Map<number, ReturnType<typeof setTimeout>>} */
const timers = new Map();
let lastKey = 0;

/**
 * @param {string} text
 * @param {ToastOptions} [options]
 */
export function toast(text, options = {}) {
  lastKey += 1;
  shown = [...shown, { key: lastKey, text, options }].slice(-MAX_TOASTS);
  draw();
  startTimer(lastKey);
}

/** @param {unknown} failure */
export function toastFailure(failure) {
  const { sentence, advice, detail } = explain(failure);
  toast(sentence, { kind: 'failure', detail: detail || advice });
}

/** @param {number} key */
function close(key) {
  stopTimer(key);
  shown = shown.filter((one) => one.key !== key);
  draw();
}

/** @param {number} key */
function startTimer(key) {
  const one = shown.find((candidate) => candidate.key === key);
  if (!one) return;
  stopTimer(key);
  const lasts = one.options.kind === 'failure' ? FAILURE_DURATION_MS : DURATION_MS;
  timers.set(
    key,
    setTimeout(() => close(key), lasts),
  );
}

/** @param {number} key */
function stopTimer(key) {
  clearTimeout(timers.get(key));
  timers.delete(key);
}

function draw() {
  render(
    repeat(
      shown,
      ({ key }) => key,
      ({ key, text, options }) =>
        html`<div
          class="toast ${options.kind ?? 'info'}"
          @pointerenter=${() => stopTimer(key)}
          @pointerleave=${() => startTimer(key)}
          @focusin=${() => stopTimer(key)}
          @focusout=${() => startTimer(key)}
        >
          <div class="toast-body">
            <p>${text}</p>
            ${options.detail ? html`<p class="toast-detail">${options.detail}</p>` : nothing}
          </div>
          ${options.action ? actionButton(key, options.action) : nothing}
          <button
            class="button small quiet icon"
            type="button"
            aria-label=${t('act.dismiss')}
            @click=${() => close(key)}
          >
            ✕
          </button>
        </div>`,
    ),
    toastRegion(),
  );
}

/**
 * @param {number} key
 * @param {{ label: string, run: () => void }} action
 */
function actionButton(key, { label, run }) {
  const act = () => {
    close(key);
    run();
  };
  return html`<button class="button small" type="button" @click=${act}>${label}</button>`;
}

/** The live region must be in the page before its first text, or screen readers skip it. */
function toastRegion() {
  let element = document.getElementById('toasts');
  if (!element) {
    element = document.createElement('div');
    element.id = 'toasts';
    element.className = 'toasts';
    element.setAttribute('role', 'status');
    element.setAttribute('aria-live', 'polite');
    document.body.append(element);
  }
  return element;
}

toastRegion();
