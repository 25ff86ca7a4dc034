/** The local models that can be selected: the built-in ones and the user's own, saved or not. */

import { t } from '../common/i18n.js';
import { LISTS } from './form_model.js';

/** @typedef {import('./store.js').SettingsStore} SettingsStore */
/** @typedef {import('./store.js').Model} Model */

/**
 * @param {SettingsStore} store
 * @param {'embedding' | 'rerank' | 'generation'} type
 * @returns {string[]}
 */
export function modelNames(store, type) {
  const box = store.models.filter((model) => model.builtIn && model.type === type);
  const own = /** @type {any[]} */ (store.value(LISTS.models)).filter((row) => row.type === type);
  return [...new Set([...box, ...own].map(({ name }) => name))];
}

/**
 * For a select; what is chosen stays in it even if no model has that name any more.
 *
 * @param {SettingsStore} store
 * @param {'embedding' | 'rerank'} type
 * @param {string} chosen
 */
export function modelChoices(store, type, chosen) {
  const names = modelNames(store, type);
  const choices = names.map((name) => ({ value: name, label: name }));
  if (names.includes(chosen)) return choices;
  const label = chosen ? t('models.missing', { name: chosen }) : t('models.choose');
  return [{ value: chosen, label }, ...choices];
}

/**
 * What the kernel knows of an own model, if it is the same as in the form.
 *
 * @param {SettingsStore} store
 * @param {{ name: string, path: string, endpoint?: { url: string } }} row
 * @returns {Model | undefined}
 */
export function knownModel(store, row) {
  const place = row.endpoint?.url ?? row.path;
  return store.models.find(
    (model) => !model.builtIn && model.name === row.name && model.path === place,
  );
}
