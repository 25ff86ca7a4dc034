/** The bar at the top of every page: where one is, where one can go, language, theme, kernel. */

import { languageButton, themeButton } from './appearance_buttons.js';
import { makeRenderer } from './renderer.js';
import { explain } from './failures.js';
import { opensPage, pageAddress } from './navigation.js';
import { t } from './i18n.js';
import { kernel } from './kernel.js';
import { kernelState, onKernelState } from './kernel_state.js';
import { html, nothing } from './lit.js';
import { onThemeChange } from './theme.js';
import { toastFailure } from './toast.js';

/** @typedef {import('./navigation.js').Page} Page */

/** A kernel in one of these states needs no words. */
const QUIET_STATES = new Set(['running', 'idle']);

/**
 * Draws into `<header id="top-bar">`.
 *
 * @param {{ page: Page, middle?: () => unknown }} what `middle`: what this page adds to the bar
 * @returns {() => void} draws it again, after a change of what `middle` reads
 */
export function mountTopBar({ page, middle = () => nothing }) {
  const container = /** @type {HTMLElement} */ (document.getElementById('top-bar'));
  const draw = makeRenderer(
    container,
    () => html`
      <a class="skip-link" href="#main">${t('bar.skip')}</a>
      <a class="brand" href=${pageAddress('repos')} @click=${opensPage('repos', failing)}>
        <span class="brand-mark" aria-hidden="true"></span>codekernel
      </a>
      <nav class="top-nav" aria-label=${t('bar.navigation')}>
        ${navLink('repos', page)} ${navLink('settings', page)}
      </nav>
      <div class="top-middle">${middle()}</div>
      <div class="top-tools">${stateBadge()} ${languageButton()} ${themeButton()}</div>
    `,
  );
  onKernelState(draw);
  onThemeChange(draw);
  return draw;
}

const failing = { failed: toastFailure };

/**
 * @param {'repos' | 'settings'} target
 * @param {Page} page
 */
function navLink(target, page) {
  return html`<a
    class="nav-link"
    href=${pageAddress(target)}
    aria-current=${target === page ? 'page' : nothing}
    @click=${opensPage(target, failing)}
    >${t(`bar.${target}`)}</a
  >`;
}

function stateBadge() {
  const { state, failure } = kernelState();
  const text = t(`kernel.${state}`);
  const reason = failure ? ` ${explain(failure).detail || explain(failure).sentence}` : '';
  return html`<span class="kernel-state ${state}" role="status" title=${text + reason}>
    <span class="dot" aria-hidden="true"></span>
    <span class=${QUIET_STATES.has(state) ? 'visually-hidden' : ''}>${text}</span>
    ${state === 'failed' ? restartButton(failure) : nothing}
  </span>`;
}

/** @param {unknown} failure a browser can only check whether it runs again */
function restartButton(failure) {
  const isElsewhere = /** @type {any} */ (failure)?.code === 'KERNEL_UNREACHABLE';
  const restart = () => kernel.host('restartKernel').catch(toastFailure);
  return html`<button class="button small" type="button" @click=${restart}>
    ${t(isElsewhere ? 'kernel.reconnect' : 'kernel.restart')}
  </button>`;
}
