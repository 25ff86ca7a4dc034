/** This window's repository: opened, opened again, and what became of it. */

import { kernel } from '../../common/kernel.js';
import { kernelState, onKernelState } from '../../common/kernel_state.js';
import { after, AT_FIRST } from './session_state.js';

/** @typedef {import('./session_state.js').SessionState} SessionState */

export class Session {
  /** @type {Set<() => void>} */
  #listeners = new Set();
  now = AT_FIRST;
  /** Whether it was ever ready: until then there is nothing to show. */
  wasPrepared = false;

  /** @param {string} repoName */
  constructor(repoName) {
    this.repoName = repoName;
    kernel.on('sessionPrepared', () => this.#take({ type: 'prepared' }));
    kernel.on('sessionCrashed', ({ failure }) => this.#take({ type: 'crashed', failure }));
    kernel.on('sessionLost', ({ failure }) => this.#take({ type: 'lost', failure }));
    onKernelState(({ state }) => {
      if (state === 'running' && this.now.state === 'refused') this.open();
    });
  }

  get isPrepared() {
    return this.now.state === 'prepared' && kernelState().state !== 'failed';
  }

  /** @param {() => void} listener called after each change */
  onChange(listener) {
    this.#listeners.add(listener);
  }

  async open() {
    this.#take({ type: 'asked' });
    try {
      const { state, path } = await kernel.openRepo({ repoName: this.repoName });
      this.#take({ type: 'opened', state, path });
    } catch (failure) {
      this.#take({ type: 'refused', failure });
    }
  }

  /** @param {import('./session_state.js').SessionEvent} event */
  #take(event) {
    this.now = after(this.now, event);
    this.wasPrepared ||= this.now.state === 'prepared';
    for (const listener of this.#listeners) listener();
  }
}
