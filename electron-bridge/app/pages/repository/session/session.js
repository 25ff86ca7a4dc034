/** This window's repository: opened, opened again, and what became of it. */

import { kernel } from '../../common/kernel.js';
import { kernelState, onKernelState } from '../../common/kernel_state.js';
import { reduce, INITIAL } from './session_state.js';

/** @typedef {import('./session_state.js').SessionState} SessionState */

export class Session {
  /** @type {Set<() => void>} */
  #listeners = new Set();
  now = INITIAL;
  /** Whether it was ever ready: until then there is nothing to show. */
  wasPrepared = false;

  /** @param {string} repoName */
  constructor(repoName) {
    this.repoName = repoName;
    kernel.on('sessionPrepared', () => this.#apply({ type: 'prepared' }));
    kernel.on('sessionCrashed', ({ failure }) => this.#apply({ type: 'crashed', failure }));
    kernel.on('sessionLost', ({ failure }) => this.#apply({ type: 'lost', failure }));
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
    this.#apply({ type: 'requested' });
    try {
      const { state, path } = await kernel.openRepo({ repoName: this.repoName });
      this.#apply({ type: 'opened', state, path });
    } catch (failure) {
      this.#apply({ type: 'refused', failure });
    }
  }

  /** @param {import('./session_state.js').SessionEvent} event */
  #apply(event) {
    this.now = reduce(this.now, event);
    this.wasPrepared ||= this.now.state === 'prepared';
    for (const listener of this.#listeners) listener();
  }
}
