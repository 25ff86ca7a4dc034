/** Whether the kernel runs, as far as this page has been told. */

import { kernel } from './kernel.js';

/** @typedef {import('../../../index.d.ts').KernelState} KernelState */
/** @typedef {{ state: KernelState, failure?: unknown }} Told */

/** @type {Set<(told: Told) => void>} */
const listeners = new Set();
/** @type {Told} */
let told = { state: 'starting' };

export function kernelState() {
  return told;
}

/**
 * @param {(told: Told) => void} listener
 * @returns {() => void} ends it
 */
export function onKernelState(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {Told} news */
function take(news) {
  told = news;
  for (const listener of listeners) listener(news);
}

/** Only changes are told; that it runs already shows in an answer. */
async function probe() {
  const before = told;
  try {
    await kernel.getGenerationModels();
    if (told === before) take({ state: 'running' });
  } catch (failure) {
    if (told === before) take({ state: 'failed', failure });
  }
}

kernel.on('kernelState', take);
probe();
