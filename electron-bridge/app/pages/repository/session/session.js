/** A repository that this window has open: opened, opened again, and what became of it. */

import { kernel } from '../../common/kernel.js';
import { kernelState, onKernelState } from '../../common/kernel_state.js';
import { reduce, INITIAL } from './session_state.js';

/** @typedef {import('./session_state.js').SessionState} SessionState */

export class Session {
  /** @type {Set<() => void>} */
  #listeners = new Set();
  /** @type {(() => void)[]} */
  #ends;
  now = INITIAL;
  /** Whether it was ever ready: until then there is nothing to show. */
  wasPrepared = false;
  /** Whether what this window asks is meant for this repository: it is the one that is shown. */
  #isShown = false;

  /** @param {string} repoName */
  constructor(repoName) {
    this.repoName = repoName;
    const mine = (/** @type {(event: any) => void} */ act) => (/** @type {any} */ event) =>
      event.repoName === repoName && act(event);
    this.#ends = [
      kernel.on(
        'sessionPrepared',
        mine(() => this.#apply({ type: 'prepared' })),
      ),
      kernel.on(
        'sessionCrashed',
        mine(({ failure }) => this.#apply({ type: 'crashed', failure })),
      ),
      kernel.on(
        'sessionLost',
        mine(({ failure }) => this.#apply({ type: 'lost', failure })),
      ),
      onKernelState(({ state }) => {
        const isAway = this.now.state === 'refused' || this.now.state === 'lost';
        if (this.#isShown && state === 'running' && isAway) this.open();
      }),
    ];
  }

  get isPrepared() {
    return this.#isShown && this.now.state === 'prepared' && kernelState().state !== 'failed';
  }

  /** @param {() => void} listener called after each change */
  onChange(listener) {
    this.#listeners.add(listener);
  }

  /** The window shows this repository from now on. */
  show() {
    if (this.#isShown) return;
    this.#isShown = true;
    this.open();
  }

  /** The window shows another one; what is at work here goes on. */
  hide() {
    this.#isShown = false;
    this.#notify();
  }

  /** The repository is gone. */
  end() {
    for (const end of this.#ends) end();
    this.#listeners.clear();
  }

  async open() {
    this.#apply({ type: 'requested' });
    try {
      const { state, path } = await kernel.openRepo({ repoName: this.repoName });
      this.#apply({ type: 'opened', state, path });
    } catch (failure) {
      if (this.#isShown) this.#apply({ type: 'refused', failure });
    }
  }

  /** @param {import('./session_state.js').SessionEvent} event */
  #apply(event) {
    this.now = reduce(this.now, event);
    this.wasPrepared ||= this.now.state === 'prepared';
    this.#notify();
  }

  #notify() {
    for (const listener of this.#listeners) listener();
  }
}
