/** The kernel is killed; the window says so, and goes on by itself. */

import assert from 'node:assert/strict';

/**
 * @param {import('../support/desktop.js').Host} host
 * @param {import('playwright-core').Page} page a repository that is open
 */
export async function survive(host, page) {
  await page.getByRole('tab', { name: 'Search' }).click();
  const before = await host.kernelPid();
  const states = await page.evaluateHandle(() => {
    const heard = /** @type {string[]} */ ([]);
    window.kernel.on('kernelState', ({ state }) => heard.push(state));
    window.kernel.on('sessionPrepared', () => heard.push('prepared'));
    return heard;
  });
  process.kill(before, 'SIGKILL');
  await page.getByRole('alert').waitFor();
  await page.waitForFunction((heard) => heard.includes('prepared'), states);
  await page.getByRole('alert').waitFor({ state: 'detached' });
  assert.deepEqual(await states.jsonValue(), ['restarting', 'running', 'prepared']);
  assert.notEqual(await host.kernelPid(), before);
  await page.locator('#query').fill('who says hello again');
  await page.getByRole('article').filter({ hasText: 'greet.py' }).first().waitFor();
}
