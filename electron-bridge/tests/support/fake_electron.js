/** As much of Electron as ipc.js and the preload script use: two processes, one wire. */

import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import vm from 'node:vm';

const PRELOAD = new URL('../../preload.cjs', import.meta.url);

export class FakeIpcMain extends EventEmitter {
  handlers = new Map();

  handle(channel, handler) {
    this.handlers.set(channel, handler);
  }
}

/** A window: its webContents, the frame that is shown, and the page's side of the wire. */
export class FakeWindow {
  constructor(ipcMain, id, url) {
    this.ipcMain = ipcMain;
    this.frame = { url, parent: null };
    this.renderer = new EventEmitter();
    this.contents = Object.assign(new EventEmitter(), {
      id,
      isDestroyed: () => this.isDestroyed,
      send: (channel, payload) => this.#later(() => this.renderer.emit(channel, {}, payload)),
    });
    this.isDestroyed = false;
    this.kernel = this.#preloaded();
  }

  get #event() {
    return { sender: this.contents, senderFrame: this.frame };
  }

  close() {
    this.isDestroyed = true;
    this.contents.emit('destroyed');
  }

  /** What preload.cjs shows to the page. */
  #preloaded() {
    const shown = {};
    const ipcRenderer = {
      on: (channel, listener) => this.renderer.on(channel, listener),
      send: (channel, ...values) =>
        this.#later(() => this.ipcMain.emit(channel, this.#event, ...structuredClone(values))),
      invoke: async (channel, ...values) => {
        const handler = this.ipcMain.handlers.get(channel);
        return structuredClone(await handler(this.#event, ...structuredClone(values)));
      },
    };
    const contextBridge = { exposeInMainWorld: (name, api) => (shown[name] = api) };
    const require = (name) => ({ electron: { contextBridge, ipcRenderer } })[name];
    const script = vm.compileFunction(readFileSync(PRELOAD, 'utf8'), ['require']);
    script(require);
    return shown.kernel;
  }

  #later(work) {
    setImmediate(() => this.isDestroyed || work());
  }
}
