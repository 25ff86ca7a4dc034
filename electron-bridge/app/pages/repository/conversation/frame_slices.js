/** Work in slices, a few milliseconds of it in each frame, so that the page never stands still. */

/** Milliseconds; laying out and painting what was made takes about twice as long again. */
const SLICE_MS = 5;

/** @typedef {() => boolean} Step does a little; true if there is more */

/** @type {Set<Step>} */
const steps = new Set();
let isWaiting = false;

/** @param {Step} step is called until it says that there is no more */
export function runInSlices(step) {
  steps.add(step);
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(runFrame);
}

function runFrame() {
  const end = performance.now() + SLICE_MS;
  isWaiting = false;
  for (const step of [...steps]) {
    let hasMore;
    do hasMore = step();
    while (hasMore && performance.now() < end);
    if (!hasMore) steps.delete(step);
    if (performance.now() >= end) break;
  }
  if (steps.size === 0 || isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(runFrame);
}
