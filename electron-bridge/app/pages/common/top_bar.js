/** The bar at the top of every page: where one is, where one can go, language, theme, kernel. */

import { languageButton, themeButton } from './appearance_buttons.js';
import { makeRenderer } from './renderer.js';
import { explain } from './failures.js';
import { currentPlace, opensPage, pageAddress } from './navigation.js';
import { t } from './i18n.js';
import { kernelState, onKernelState } from './kernel_state.js';
import { html, nothing } from './lit.js';
import { onRunning } from './running.js';
import { runningBadge } from './running_badge.js';
import { onThemeChange } from './theme.js';
import { toastFailure } from './toast.js';

/** A kernel in one of these states needs no words. */
const QUIET_STATES = new Set(['running', 'idle']);

/**
 * Draws into `<header id="top-bar">`.
 *
 * @param {() => unknown} middle what the page that is shown adds to the bar
 * @param {() => unknown} tools what stands before language and theme
 * @returns {() => void} draws it again, after a change of the place or of what these read
 */
export function mountTopBar(middle, tools) {
  const container = /** @type {HTMLElement} */ (document.getElementById('top-bar'));
  container.replaceChildren(); // the document has its name there, for the first paint
  const draw = makeRenderer(
    container,
    () => html`
      <a class="skip-link" href="#main" @click=${toMain}>${t('bar.skip')}</a>
      <a class="brand" href=${pageAddress('repos')} @click=${opensPage('repos', failing)}>
        <span class="brand-mark" aria-hidden="true"></span
        ><span class="brand-name">codekernel</span>
      </a>
      <nav class="top-nav" aria-label=${t('bar.navigation')}>
        ${navLink('repos')} ${navLink('settings')}
      </nav>
      <div class="top-middle">${middle()}</div>
      <div class="top-tools">
        ${runningBadge()} ${tools()} ${stateBadge()} ${languageButton()} ${themeButton()}
      </div>
    `,
  );
  onKernelState(draw);
  onThemeChange(draw);
  onRunning(draw);
  return draw;
}

const failing = { failed: toastFailure };

/** The address belongs to the page, so the link does not change it. @param {Event} event */
function toMain(event) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** @param {'repos' | 'settings'} target */
function navLink(target) {
  return html`<a
    class="nav-link"
    href=${pageAddress(target)}
    aria-current=${target === currentPlace().page ? 'page' : nothing}
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
  </span>`;
}
