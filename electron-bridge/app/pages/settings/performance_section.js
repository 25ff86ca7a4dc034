/** Threads, accelerators that really work here, and the battery. */

import { explain } from '../common/failures.js';
import { t } from '../common/i18n.js';
import { html } from '../common/lit.js';
import { checkField, numberField } from './fields.js';
import { section } from './section.js';

/** @typedef {import('./store.js').SettingsStore} SettingsStore */

/** @param {SettingsStore} store */
export function performanceSection(store) {
  return section(
    'performance',
    html`${numberField(store, 'performance.maxThreads', {
      label: t('performance.threads'),
      hint: t('performance.threads.hint'),
    })}
    ${accelerator(store, 'performance.useCuda', 'CUDA', store.hardware?.cudaAvailable)}
    ${accelerator(store, 'performance.useCoreML', 'CoreML', store.hardware?.coreMLAvailable)}
    ${checkField(store, 'performance.pauseOnBattery', {
      label: t('performance.battery'),
      hint: t('performance.battery.hint'),
    })}`,
  );
}

/**
 * One that does not work can be switched off, never on.
 *
 * @param {SettingsStore} store
 * @param {string} path
 * @param {string} name
 * @param {boolean | undefined} works undefined while unknown
 */
function accelerator(store, path, name, works) {
  const isOn = Boolean(store.value(path));
  return checkField(store, path, {
    label: html`${t('performance.use', { name })} ${availability(store, works)}`,
    hint: t(isOn && works === false ? 'performance.lost' : `performance.${name}.hint`, { name }),
    isDisabled: works !== true && !isOn,
  });
}

/**
 * @param {SettingsStore} store
 * @param {boolean | undefined} works
 */
function availability(store, works) {
  if (works === true) return html`<span class="badge good">${t('performance.works')}</span>`;
  if (works === false) return html`<span class="badge">${t('performance.worksNot')}</span>`;
  if (!store.hardwareFailure) {
    return html`<span class="badge">${t('performance.trying')}</span>`;
  }
  const { sentence, detail } = explain(store.hardwareFailure);
  return html`<span class="badge warn" title=${detail || sentence}
    >${t('performance.unknown')}</span
  >`;
}
