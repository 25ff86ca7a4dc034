/** The state of the settings page and everything it asks of kernel and host. */

import { isKernelFailure } from '../common/failures.js';
import { t } from '../common/i18n.js';
import { formOf, isChanged, LISTS, settingsOf, findInvalidFields } from './form_model.js';
import { setAt, valueAt } from './field_paths.js';
import { explainProblem, parseProblems } from './problems.js';

/** @typedef {import('./form_model.js').SettingsFile} SettingsFile */

/**
 * @typedef {object} Model
 * @property {string} name
 * @property {'embedding' | 'rerank' | 'generation'} type
 * @property {string} path
 * @property {number} fileSize
 * @property {boolean} builtIn
 * @property {number | null} dimension
 * @property {string} description
 * @property {string} trouble
 */

export class SettingsStore {
  /** @type {SettingsFile | null} what is in force */
  saved = null;
  /** @type {import('./form_model.js').Form} */
  form = null;
  /** why the settings.json on the disk is not in force, or '' */
  loadFailure = '';
  /** @type {string[]} what one should know of the settings in force */
  warnings = [];
  /** @type {Model[]} */
  models = [];
  /** @type {{ cudaAvailable: boolean, coreMLAvailable: boolean } | null} */
  hardware = null;
  /** @type {unknown} why the hardware is not known */
  hardwareFailure = null;
  /** @type {Map<string, boolean>} model name -> whether a key is stored */
  stored = new Map();
  /** @type {Map<string, string>} path -> sentence */
  problems = new Map();
  /** @type {unknown} of loading or saving as a whole */
  failure = null;
  isSaving = false;
  /** @type {Set<string>} places that a field shows, so that a problem there is seen */
  fieldPaths = new Set();

  /**
   * @param {import('../common/kernel.js').Kernel} kernel
   * @param {() => void} changed called after every change
   */
  constructor(kernel, changed) {
    this.kernel = kernel;
    this.changed = changed;
  }

  get isDirty() {
    return this.saved !== null && isChanged(this.form, this.saved);
  }

  async load() {
    try {
      const [{ settings, trouble, warnings }, { models }] = await Promise.all([
        this.kernel.getSettings(),
        this.kernel.getModels(),
      ]);
      this.models = models;
      this.loadFailure = trouble;
      this.warnings = warnings ?? [];
      this.#applySettings(settings);
      this.failure = null;
      await this.#askForKeys();
    } catch (failure) {
      this.failure = failure;
    }
    this.changed();
  }

  /** Takes seconds the first time: a model really runs on each accelerator. */
  async loadHardware() {
    try {
      this.hardware = await this.kernel.getAvailableHardware();
      this.hardwareFailure = null;
    } catch (failure) {
      this.hardwareFailure = failure;
    }
    this.changed();
  }

  /** @param {string} path */
  value(path) {
    return valueAt(this.form, path);
  }

  /**
   * @param {string} path
   * @param {unknown} value
   */
  set(path, value) {
    setAt(this.form, path, value);
    this.problems.delete(path);
    this.changed();
  }

  /**
   * Rows have come or gone, so that problems no longer point at the right ones.
   *
   * @param {string} list one of LISTS
   * @param {any[]} rows
   */
  setRows(list, rows) {
    setAt(this.form, list, rows);
    for (const path of this.problems.keys()) if (path.startsWith(list)) this.problems.delete(path);
    this.changed();
  }

  discard() {
    if (this.saved) this.#applySettings(this.saved);
    this.changed();
  }

  /** @param {any} row a chat model */
  hasKey(row) {
    return !row._forgetKey && this.stored.get(row.name.trim()) === true;
  }

  /** @param {string} name of a chat model that was renamed or is new */
  async askForKey(name) {
    const wanted = name.trim();
    if (!wanted || this.stored.has(wanted)) return;
    const isStored = await this.kernel.hasApiKey({ name: wanted }).catch(() => undefined);
    if (isStored !== undefined) this.stored.set(wanted, isStored);
    this.changed();
  }

  /**
   * Try a chat model as it is in the form; a key that is stored stays with the kernel.
   *
   * @param {any} row
   * @returns {Promise<void>} rejects with the failure
   */
  async test(row) {
    const isStored = !row._newKey && this.hasKey(row);
    const key = isStored ? { keyName: row.name.trim() } : { api: row._newKey ?? '' };
    await this.kernel.testApi({ url: row.url.trim(), modelName: row.modelName.trim(), ...key });
  }

  /** @returns {Promise<boolean>} whether it is done; else `problems` and `failure` say why not */
  async save() {
    this.failure = null;
    this.problems = sentences(findInvalidFields(this.form));
    if (this.problems.size > 0) return this.#finish(false);
    this.isSaving = true;
    this.changed();
    try {
      await this.#storeNewKeys();
      await this.kernel.host('saveSettings', { settings: this.#file() });
      await this.#forgetKeys();
    } catch (failure) {
      this.#explain(failure);
      return this.#finish(false);
    }
    await this.load();
    return this.#finish(true);
  }

  #file() {
    const file = settingsOf(this.form);
    file.conversationSettings?.generationModel?.forEach((entry, index) => {
      const row = this.value(LISTS.chat)[index];
      if (row._forgetKey) entry.setApiKey = false;
      else if (this.stored.has(entry.name)) entry.setApiKey = this.hasKey(row);
    });
    return file;
  }

  /** The kernel wants keys before the settings that say there are some. */
  async #storeNewKeys() {
    for (const row of this.value(LISTS.chat)) {
      row.name = row.name.trim();
      if (!row._newKey) continue;
      await this.kernel.setApiKey({ name: row.name, apiKey: row._newKey });
      row._newKey = '';
      row._forgetKey = false;
      this.stored.set(row.name, true);
    }
  }

  /** Delete the keys of removed models, and those that the user wants deleted. */
  async #forgetKeys() {
    const rows = /** @type {any[]} */ (this.value(LISTS.chat));
    const before = this.saved?.conversationSettings?.generationModel ?? [];
    const gone = before
      .map(({ name }) => name)
      .filter((name) => !rows.some((r) => r.name === name));
    const wanted = rows.filter((row) => row._forgetKey).map((row) => row.name);
    for (const name of new Set([...gone, ...wanted])) {
      if (this.stored.get(name)) await this.kernel.setApiKey({ name, apiKey: '' });
      this.stored.delete(name);
    }
  }

  /** @param {unknown} failure */
  #explain(failure) {
    const { code, message } = /** @type {any} */ (failure);
    if (!isKernelFailure(failure) || code !== 'INVALID_SETTINGS') {
      this.failure = failure;
      return;
    }
    const found = parseProblems(message);
    const placed = found.filter(
      ({ path }) => this.fieldPaths.has(path) && this.value(path) !== undefined,
    );
    const others = found.filter((problem) => !placed.includes(problem));
    this.problems = new Map(placed.map(({ path, reason }) => [path, explainProblem(reason)]));
    const listed = others.map(({ path, reason }) => `${path} ${reason}`.trim()).join('\n');
    this.failure = { name: 'KernelError', code, message: listed };
  }

  async #askForKeys() {
    const names = /** @type {any[]} */ (this.value(LISTS.chat)).map(({ name }) => name);
    this.stored = new Map();
    await Promise.all(names.map((name) => this.askForKey(name)));
  }

  /** @param {SettingsFile} settings */
  #applySettings(settings) {
    this.saved = settings;
    this.form = formOf(settings);
    this.problems = new Map();
    this.failure = null;
  }

  /** @param {boolean} isDone */
  #finish(isDone) {
    this.isSaving = false;
    this.changed();
    return isDone;
  }
}

/** @param {Map<string, string>} kinds */
function sentences(kinds) {
  return new Map([...kinds].map(([path, kind]) => [path, t(`problem.${kind}`)]));
}
