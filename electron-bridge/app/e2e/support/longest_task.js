/** How long a page was deaf at a stretch: the longest task of its main thread. */

/**
 * Begin to measure; the result tells the longest task since, in milliseconds. Tasks of less than
 * 50 ms are not reported by the browser, and count as none.
 *
 * @param {import('playwright-core').Page} page
 * @returns {Promise<() => Promise<number>>}
 */
export async function measureTasks(page) {
  await page.evaluate(() => {
    const measured = /** @type {any} */ (window);
    measured.longestTask = 0;
    measured.taskObserver?.disconnect();
    measured.taskObserver = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        measured.longestTask = Math.max(measured.longestTask, duration);
      }
    });
    measured.taskObserver.observe({ entryTypes: ['longtask'] });
  });
  return () =>
    page.evaluate(async () => {
      // What is still to be reported comes after the next frame.
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
      return /** @type {any} */ (window).longestTask;
    });
}
