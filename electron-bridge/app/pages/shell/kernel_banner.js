/** The kernel does not run: said once, above whatever page is shown, with the one thing that helps. */

import { explain } from '../common/failures.js';
import { t } from '../common/i18n.js';
import { kernel } from '../common/kernel.js';
import { kernelState } from '../common/kernel_state.js';
import { html, nothing } from '../common/lit.js';
import { toastFailure } from '../common/toast.js';

/** While it stands here, pages need not say it of each thing they could not load. */
const DOWN_CLASS = 'kernel-down';

export function kernelBanner() {
  const { state, failure } = kernelState();
  const isDown = state === 'failed' || state === 'stopped';
  document.body.classList.toggle(DOWN_CLASS, isDown);
  if (!isDown) return nothing;
  const { sentence, advice } = failure
    ? explain(failure)
    : { sentence: t(`kernel.${state}`), advice: '' };
  return html`<div class="notice failure kernel-banner" role="alert">
    <div class="notice-body">
      <p class="notice-title">${sentence}</p>
      <p>${advice}</p>
    </div>
    ${state === 'failed' ? restartButton(failure) : nothing}
  </div>`;
}

/** @param {unknown} failure a browser can only check whether it runs again */
function restartButton(failure) {
  const isElsewhere = /** @type {any} */ (failure)?.code === 'KERNEL_UNREACHABLE';
  const restart = () => kernel.host('restartKernel').catch(toastFailure);
  return html`<button class="button small" type="button" @click=${restart}>
    ${t(isElsewhere ? 'kernel.reconnect' : 'kernel.restart')}
  </button>`;
}
