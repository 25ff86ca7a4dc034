/** Whether the kernel runs, as far as this page has been told. */

import { kernel } from './kernel.js';

/** @typedef {import('../../../index.d.ts').KernelState} KernelState */
/** @typedef {{ state: KernelState, failure?: unknown }} KernelStateEvent */

/** @type {Set<(latest: KernelStateEvent) => void>} */
const listeners = new Set();
/** @type {KernelStateEvent} */
let told = { state: 'starting' };

export function kernelState() {
  return told;
}

/**
 * @param {(told: KernelStateEvent) => void} listener
 * @returns {() => void} ends it
 */
export function onKernelState(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {KernelStateEvent} news */
function setState(news) {
  told = news;
  for (const listener of listeners) listener(news);
}

/** Only changes are told; that it runs already shows in an answer. */
async function probe() {
  const before = told;
  try {
    await kernel.getGenerationModels();
    if (told === before) setState({ state: 'running' });
  } catch (failure) {
    if (told === before) setState({ state: 'failed', failure });
  }
}

kernel.on('kernelState', setState);
probe();
