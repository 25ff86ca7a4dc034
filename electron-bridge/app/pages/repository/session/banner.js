/** What stands above the tabs while something is wrong with the session or the kernel. */

import { explain } from '../../common/failures.js';
import { opensPage, pageAddress } from '../../common/navigation.js';
import { t } from '../../common/i18n.js';
import { kernelState } from '../../common/kernel_state.js';
import { html, nothing } from '../../common/lit.js';
import { failureState } from '../../common/states.js';
import { toastFailure } from '../../common/toast.js';

/** @typedef {import('./session.js').Session} Session */

/** The kernel is there, or nothing is known against it. */
const FINE = new Set(['running', 'idle']);

/**
 * Instead of the tabs: nothing was ever opened here.
 *
 * @param {Session} session
 */
export function insteadOfTabs(session) {
  const { state, failure } = session.now;
  if (session.wasPrepared || state === 'opening' || state === 'crashed') return null;
  return html`<div class="repository-refused stack">
    ${failureState(failure, { retry: () => session.open() })} ${toRepositories()}
  </div>`;
}

/**
 * @param {Session} session
 * @param {import('../index/status_watch.js').StatusWatch} watch
 */
export function banner(session, watch) {
  const { state, failure } = session.now;
  const kernel = kernelState();
  if (kernel.state === 'failed' || kernel.state === 'stopped') return nothing; // the shell says so
  if (session.wasPrepared && !FINE.has(kernel.state)) {
    return notice('warn', t('session.kernelAway'), null, spinner());
  }
  if (state === 'lost' || state === 'refused') {
    return notice('failure', t('session.lost'), failure, retryButton(session));
  }
  if (state === 'crashed') return notice('warn', t('session.crashed'), failure, spinner());
  if (watch.status?.cause === 'full-disk') return fullDiskNotice(watch);
  return nothing;
}

export function noRepository() {
  return html`<div class="repository-refused stack">
    <h1>${t('session.noName')}</h1>
    ${toRepositories()}
  </div>`;
}

/**
 * @param {'warn' | 'failure'} kind
 * @param {string} title
 * @param {unknown} failure
 * @param {unknown} [action]
 */
function notice(kind, title, failure, action = nothing) {
  const { sentence, detail } = failure ? explain(failure) : { sentence: '', detail: '' };
  return html`<div class="notice ${kind} session-banner" role="alert">
    <div class="notice-body">
      <p class="notice-title">${title}</p>
      ${failure ? html`<p class="notice-detail">${detail || sentence}</p>` : nothing}
    </div>
    ${action}
  </div>`;
}

/** @param {Session} session */
function retryButton(session) {
  return html`<button class="button small" type="button" @click=${() => session.open()}>
    ${t('act.retry')}
  </button>`;
}

/** @param {import('../index/status_watch.js').StatusWatch} watch */
function fullDiskNotice(watch) {
  return html`<div class="notice warn session-banner" role="alert" title=${watch.status?.trouble}>
    <div class="notice-body">
      <p class="notice-title">${t('session.fullDisk')}</p>
      <p class="notice-detail">${t('session.fullDisk.advice')}</p>
    </div>
    <button class="button small" type="button" @click=${() => watch.retry()}>
      ${t('act.retry')}
    </button>
  </div>`;
}

function spinner() {
  return html`<span class="spinner" aria-hidden="true"></span>`;
}

function toRepositories() {
  return html`<p>
    <a
      class="button"
      href=${pageAddress('repos')}
      @click=${opensPage('repos', { failed: toastFailure })}
      >${t('session.toRepos')}</a
    >
  </p>`;
}
