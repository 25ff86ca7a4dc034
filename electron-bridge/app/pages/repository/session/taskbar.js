/** The progress of the index in the taskbar, where the host has one. */

import { hostInfo, kernel } from '../../common/kernel.js';

/** A bar of so many steps; each one is a call. */
const STEPS = 50;

export class Taskbar {
  #shown = -1;

  /** @param {import('../index/status_watch.js').StatusWatch} watch */
  constructor(watch) {
    watch.onChange(() => {
      if (watch.session.isPrepared)
        this.show(watch.isWorking ? (watch.progress?.overall ?? 0) : -1);
    });
  }

  /** @param {number} share less than 0 for none */
  async show(share) {
    const step = share < 0 ? -1 : Math.floor(share * STEPS) / STEPS;
    if (step === this.#shown) return;
    this.#shown = step;
    try {
      const { kind } = await hostInfo();
      if (kind === 'electron') await kernel.host('showProgress', { share: step });
    } catch {
      // a bar that stands still is no reason for a message
    }
  }
}
