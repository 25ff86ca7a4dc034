/** The page of settings: sections, the bar that saves, and what is wrong. */

import { makeRenderer } from '../common/renderer.js';
import { t } from '../common/i18n.js';
import { kernel } from '../common/kernel.js';
import { onKernelState } from '../common/kernel_state.js';
import { html, nothing } from '../common/lit.js';
import { failureState, loadingState } from '../common/states.js';
import { toast } from '../common/toast.js';
import { addChatModel, conversationSection } from './conversation_section.js';
import { guardLeaving } from './unsaved_guard.js';
import { modelsSection } from './models_section.js';
import { performanceSection } from './performance_section.js';
import { searchSection } from './search_section.js';
import { SECTIONS } from './section.js';
import { SettingsStore } from './store.js';

/** The part of the address that opens the dialog for another chat model. */
const ADD_MODEL = 'add-model';

/**
 * @param {HTMLElement} main
 * @returns {import('../shell/main.js').MountedPage}
 */
export function mount(main) {
  let isShown = false;
  const store = new SettingsStore(kernel, () => draw());
  const draw = makeRenderer(main, page);

  function page() {
    return html`<h1 class="settings-title">${t('settings.title')}</h1>
      ${store.saved ? everything() : beforeLoaded()}`;
  }

  function beforeLoaded() {
    if (!store.failure) return loadingState();
    return failureState(store.failure, { retry: () => store.load() });
  }

  function everything() {
    return html`<div class="settings-layout">
      <nav class="settings-nav" aria-label=${t('settings.sections')}>
        ${SECTIONS.map(
          (name) => html`<a class="nav-link" href="#${name}">${t(`settings.${name}`)}</a>`,
        )}
      </nav>
      <form class="settings-form" novalidate @submit=${save}>
        ${store.loadFailure ? troubleNotice() : nothing}
        ${store.warnings.length ? warningsNotice() : nothing}
        <div id="settings-failure">${store.failure ? failureState(store.failure) : nothing}</div>
        ${searchSection(store)} ${modelsSection(store)} ${conversationSection(store)}
        ${performanceSection(store)} ${saveBar()}
      </form>
    </div>`;
  }

  function troubleNotice() {
    return html`<div class="notice warn" role="status">
      <div class="notice-body">
        <p class="notice-title">${t('settings.trouble')}</p>
        <p>${t('settings.trouble.advice')}</p>
        <p class="notice-detail">${store.loadFailure}</p>
      </div>
    </div>`;
  }

  function warningsNotice() {
    return html`<div class="notice warn" role="status">
      <div class="notice-body">
        <p class="notice-title">${t('settings.warnings')}</p>
        ${store.warnings.map((warning) => html`<p class="notice-detail">${warning}</p>`)}
      </div>
    </div>`;
  }

  function saveBar() {
    const { isDirty, isSaving, problems } = store;
    const text = problems.size
      ? t('settings.wrong', { count: problems.size })
      : t(isDirty ? 'settings.unsaved' : 'settings.saved');
    return html`<div class="save-bar">
      <p role="status" class=${problems.size ? 'field-problem' : 'muted'}>${text}</p>
      <div class="row">
        <button
          class="button"
          type="button"
          ?disabled=${!isDirty || isSaving}
          @click=${() => store.discard()}
        >
          ${t('settings.discard')}
        </button>
        <button class="button primary" type="submit" ?disabled=${!isDirty || isSaving}>
          ${isSaving ? html`<span class="spinner" aria-hidden="true"></span>` : nothing}
          ${t('act.save')}
        </button>
      </div>
    </div>`;
  }

  /** @param {Event} event */
  async function save(event) {
    event.preventDefault();
    if (!store.isDirty || store.isSaving) return;
    if (await store.save()) {
      toast(t('settings.done'), { kind: 'success' });
      return;
    }
    await Promise.resolve(); // drawn in the next microtask
    const wrong = /** @type {HTMLElement | null} */ (main.querySelector('[aria-invalid="true"]'));
    if (wrong) wrong.focus();
    else document.getElementById('settings-failure')?.scrollIntoView({ block: 'center' });
  }

  /** @param {KeyboardEvent} event */
  function saveByKey(event) {
    if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    main.querySelector('form')?.requestSubmit();
  }

  /** Load again when the kernel is back. */
  function tryAgain() {
    if (!store.saved && store.failure) store.load();
    if (store.hardwareFailure) store.loadHardware();
  }

  document.addEventListener('keydown', (event) => isShown && saveByKey(event));
  guardLeaving(() => store.isDirty);
  onKernelState(({ state }) => state === 'running' && tryAgain());
  const loaded = store.load();
  store.loadHardware();

  /** @param {string} part another page leads to a section, or straight to a dialog */
  async function showPart(part) {
    await loaded;
    if (part === ADD_MODEL && store.saved) addChatModel(store);
    else document.getElementById(part)?.scrollIntoView();
  }

  /** Toasts must not stand in front of the buttons; `:has` on the body would slow every page. */
  function setShown(/** @type {boolean} */ isNow) {
    isShown = isNow;
    document.body.classList.toggle('with-save-bar', isNow);
  }

  return {
    show: ({ part }) => {
      setShown(true);
      draw();
      if (part) showPart(part);
    },
    hide: () => setShown(false),
    title: () => `${t('settings.title')} · codekernel`,
  };
}
