/** The state of the kernel, as far as this page knows. */

import { kernel } from './kernel.js';

/** @typedef {import('../../../index.d.ts').KernelState} KernelState */
/** @typedef {{ state: KernelState, failure?: unknown }} KernelStateEvent */

/** @type {Set<(latest: KernelStateEvent) => void>} */
const listeners = new Set();
/** @type {KernelStateEvent} */
let latest = { state: 'starting' };

export function kernelState() {
  return latest;
}

/**
 * @param {(latest: KernelStateEvent) => void} listener
 * @returns {() => void} ends it
 */
export function onKernelState(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {KernelStateEvent} event */
function setState(event) {
  latest = event;
  for (const listener of listeners) listener(event);
}

/** Only changes are sent as events; a first reply shows that it runs already. */
async function probe() {
  const before = latest;
  try {
    await kernel.getGenerationModels();
    if (latest === before) setState({ state: 'running' });
  } catch (failure) {
    if (latest === before) setState({ state: 'failed', failure });
  }
}

kernel.on('kernelState', setState);
probe();
