/** What the dialog that adds a chat model knows, and what it asks of the kernel. */

import { freeName } from './form_model.js';

/** @typedef {import('../../../types/protocol.d.ts').ModelPresetEntry} Preset */
/** @typedef {import('../../../types/protocol.d.ts').EndpointModelEntry} EndpointModel */
/** @typedef {import('../../../types/protocol.d.ts').LocalServerEntry} LocalServer */

/** An endpoint that is no preset. */
export const OTHER = 'other';

export class NewChatModel {
  /** @type {Preset[]} */
  presets = [];
  /** @type {LocalServer[] | null} null while they are looked for */
  servers = null;
  preset = '';
  url = '';
  key = '';
  modelName = '';
  name = '';
  /** @type {EndpointModel[] | null} null before the list has arrived */
  models = null;
  isListing = false;
  isTesting = false;
  /** @type {unknown} why there is no list */
  listFailure = null;
  /** @type {unknown} why the test failed */
  testFailure = null;
  #isNamed = false;
  #listing = 0;

  /**
   * @param {import('../common/kernel.js').Kernel} kernel
   * @param {string[]} taken names that other models have
   * @param {() => void} changed called after every change
   */
  constructor(kernel, taken, changed) {
    this.kernel = kernel;
    this.taken = taken;
    this.changed = changed;
  }

  get isLocal() {
    return this.presets.some(({ name, local }) => name === this.preset && local);
  }

  get keyPage() {
    return this.presets.find(({ name }) => name === this.preset)?.keyPage ?? '';
  }

  /** The presets to choose from: servers that run here first, those that do not last. */
  get choices() {
    const found = new Set(this.servers?.map(({ preset }) => preset));
    const rank = (/** @type {Preset} */ { name, local }) => (found.has(name) ? 0 : local ? 2 : 1);
    return [...this.presets].sort((one, other) => rank(one) - rank(other));
  }

  /** Local servers are looked for now, and only now. */
  async load() {
    const presets = this.kernel.getModelPresets();
    const servers = this.kernel.findLocalServers();
    servers.catch(() => {});
    this.presets = (await presets).presets;
    this.changed();
    const found = await servers.catch(() => ({ servers: [] }));
    this.servers = found.servers;
    if (!this.preset && this.servers[0]) this.choose(this.servers[0].preset);
    this.changed();
  }

  /** @param {string} preset a name, or OTHER */
  choose(preset) {
    const server = this.servers?.find((one) => one.preset === preset);
    const known = this.presets.find((one) => one.name === preset);
    this.preset = preset;
    this.url = server?.url ?? known?.url ?? '';
    this.key = '';
    this.#forgetModels();
    if (server) this.#take(server.models);
    else if (known?.local) this.list();
    this.changed();
  }

  /** @param {string} url */
  setUrl(url) {
    this.url = url;
    this.#forgetModels();
    this.changed();
  }

  /** @param {string} key */
  setKey(key) {
    this.key = key.trim();
    this.#forgetModels();
    this.changed();
  }

  /** @param {string} modelName as the endpoint calls it */
  setModel(modelName) {
    this.modelName = modelName;
    this.testFailure = null;
    if (!this.#isNamed) this.name = modelName.trim() && freeName(modelName.trim(), this.taken);
    this.changed();
  }

  /** @param {string} name the user's own */
  setName(name) {
    this.name = name;
    this.#isNamed = name !== '';
    this.changed();
  }

  get canList() {
    return Boolean(this.url.trim()) && (this.isLocal || this.preset === OTHER || this.key !== '');
  }

  get isComplete() {
    return this.canList && Boolean(this.modelName.trim() && this.name.trim());
  }

  get isNameTaken() {
    return this.taken.includes(this.name.trim());
  }

  /** Ask the endpoint for its models; an answer about an earlier address or key is dropped. */
  async list() {
    if (!this.canList || this.isListing || this.models) return;
    this.#listing += 1;
    const mine = this.#listing;
    this.isListing = true;
    this.changed();
    try {
      const { models } = await this.kernel.listEndpointModels({
        url: this.url.trim(),
        api: this.key,
      });
      if (mine === this.#listing) this.#take(models);
    } catch (failure) {
      if (mine === this.#listing) this.listFailure = failure;
    }
    if (mine !== this.#listing) return;
    this.isListing = false;
    this.changed();
  }

  /** @returns {Promise<boolean>} whether the model answered */
  async test() {
    this.isTesting = true;
    this.testFailure = null;
    this.changed();
    try {
      const { url, modelName, key } = this;
      await this.kernel.testApi({ url: url.trim(), modelName: modelName.trim(), api: key });
    } catch (failure) {
      this.testFailure = failure;
    }
    this.isTesting = false;
    this.changed();
    return this.testFailure === null;
  }

  /** The row of the settings' form. */
  get row() {
    const known = this.models?.find(({ name }) => name === this.modelName.trim());
    const text = (/** @type {number | null | undefined} */ amount) => String(amount ?? '');
    return {
      name: this.name.trim(),
      modelName: this.modelName.trim(),
      url: this.url.trim(),
      inputPrice: text(known?.inputPrice),
      outputPrice: text(known?.outputPrice),
      contextTokens: text(known?.contextTokens),
      _newKey: this.key,
    };
  }

  /** @param {EndpointModel[]} models */
  #take(models) {
    this.models = models;
    if (models.length === 1) this.setModel(models[0].name);
  }

  #forgetModels() {
    this.#listing += 1;
    this.isListing = false;
    this.models = null;
    this.listFailure = null;
    this.testFailure = null;
  }
}
