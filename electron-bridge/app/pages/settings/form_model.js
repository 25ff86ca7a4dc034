/**
 * Convert settings into a form and back: pure functions.
 *
 * A form is the settings file with texts in place of numbers, because half a number is none. What
 * belongs to the form alone starts with `_` and never reaches the file. Unknown keys
 * stay where they are.
 */

import { setAt, valueAt } from './field_paths.js';

/** @typedef {import('../../../types/protocol.d.ts').SettingsFile} SettingsFile */
/** @typedef {any} Form the file with texts for numbers, and `_` fields in rows */

const EMBEDDING = 'searchSettings.embeddingConfig.configs';
const RERANK = 'searchSettings.rerankConfig.configs';
const CHAT = 'conversationSettings.generationModel';
export const LISTS = Object.freeze({
  embedding: EMBEDDING,
  rerank: RERANK,
  chat: CHAT,
  models: 'localModelManagement.models',
});

/** @type {readonly { path: string, isOptional?: boolean, isDecimal?: boolean }[]} */
const NUMBERS = Object.freeze([
  { path: 'searchSettings.searchLimit' },
  { path: 'conversationSettings.historyLength' },
  { path: 'conversationSettings.maxRounds' },
  { path: 'performance.maxThreads' },
  { path: `${EMBEDDING}[*].inputLength` },
  { path: `${CHAT}[*].inputPrice`, isOptional: true, isDecimal: true },
  { path: `${CHAT}[*].outputPrice`, isOptional: true, isDecimal: true },
  { path: `${CHAT}[*].contextTokens`, isOptional: true },
]);

let lastId = 0;

/**
 * @param {SettingsFile} settings
 * @returns {Form}
 */
export function formOf(settings) {
  const form = structuredClone(settings);
  for (const { path } of listFields(form)) {
    const value = valueAt(form, path);
    setAt(form, path, value === null || value === undefined ? '' : String(value));
  }
  for (const list of Object.values(LISTS)) valueAt(form, list).forEach(withId);
  return form;
}

/**
 * @param {Form} form
 * @returns {SettingsFile}
 */
export function settingsOf(form) {
  const file = withoutPrivate(form);
  for (const { path, isOptional } of listFields(file)) {
    const text = String(valueAt(file, path) ?? '').trim();
    setAt(file, path, text === '' && isOptional ? null : parseNumber(text));
  }
  return file;
}

/**
 * Find the fields that cannot even be sent to the kernel.
 *
 * @param {Form} form
 * @returns {Map<string, string>} path -> 'missing', 'number' or 'whole'
 */
export function findInvalidFields(form) {
  const problems = new Map();
  for (const { path, isOptional, isDecimal } of listFields(form)) {
    const text = String(valueAt(form, path) ?? '').trim();
    if (text === '') {
      if (!isOptional) problems.set(path, 'missing');
    } else if (!Number.isFinite(Number(text))) problems.set(path, 'number');
    else if (!isDecimal && !Number.isInteger(Number(text))) problems.set(path, 'whole');
  }
  valueAt(form, CHAT).forEach((/** @type {any} */ { name }, /** @type {number} */ index) => {
    if (!name.trim()) problems.set(`${CHAT}[${index}].name`, 'missing');
  });
  return problems;
}

/**
 * Whether saving would change anything: the file, or a key.
 *
 * @param {Form} form
 * @param {SettingsFile} saved
 */
export function isChanged(form, saved) {
  const keys = valueAt(form, CHAT).some((/** @type {any} */ row) => row._newKey || row._forgetKey);
  return keys || !isSame(settingsOf(form), settingsOf(formOf(saved)));
}

/** @returns {any} */
export function newChatModel() {
  const amounts = { inputPrice: '', outputPrice: '', contextTokens: '' };
  return withId({ name: '', modelName: '', url: '', setApiKey: false, ...amounts, _isOpen: true });
}

/**
 * @param {string} modelName
 * @param {string[]} names those taken
 * @returns {any}
 */
export function newEmbeddingConfig(modelName, names) {
  const name = freeName(modelName, names);
  return withId({ name, modelName, inputLength: '950', selected: true });
}

/**
 * The rerank configs with this model selected, and no other; '' for none.
 *
 * @param {any[]} configs
 * @param {string} modelName
 */
export function selectReranker(configs, modelName) {
  const others = configs.map((config) => ({ ...config, selected: config.modelName === modelName }));
  const isListed = modelName === '' || others.some(({ selected }) => selected);
  return isListed ? others : [...others, withId({ modelName, selected: true })];
}

/**
 * @param {string} wanted
 * @param {string[]} taken
 */
export function freeName(wanted, taken) {
  if (!taken.includes(wanted)) return wanted;
  for (let number = 2; ; number += 1) {
    if (!taken.includes(`${wanted}-${number}`)) return `${wanted}-${number}`;
  }
}

/** @param {any} row */
export function withId(row) {
  lastId += 1;
  row._id = lastId;
  return row;
}

/**
 * Each number of the form, with the rows that are there.
 *
 * @param {Form} form
 */
function listFields(form) {
  return NUMBERS.flatMap(({ path, ...rest }) => {
    const [list, field] = path.split('[*]');
    if (field === undefined) return [{ path, ...rest }];
    const rows = /** @type {unknown[]} */ (valueAt(form, list) ?? []);
    return rows.map((_row, index) => ({ path: `${list}[${index}]${field}`, ...rest }));
  });
}

/** @param {string} text */
function parseNumber(text) {
  return text === '' ? Number.NaN : Number(text);
}

/**
 * @param {any} value
 * @returns {any}
 */
function withoutPrivate(value) {
  if (Array.isArray(value)) return value.map(withoutPrivate);
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(value).filter(([key]) => !key.startsWith('_'));
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutPrivate(inner)]));
}

/**
 * Null and absent are the same; so is any order of keys.
 *
 * @param {any} one
 * @param {any} other
 * @returns {boolean}
 */
function isSame(one, other) {
  if (Object.is(one ?? null, other ?? null)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false;
  if (Array.isArray(one) && one.length !== other.length) return false;
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].every((key) => isSame(one[key], other[key]));
}
