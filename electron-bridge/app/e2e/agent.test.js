/** An agent at work in the conversation page, in both hosts. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { letAgentWork, outlive } from './stories/agent.js';
import { launchBrowser } from './support/browser.js';
import { launchDesktop } from './support/desktop.js';
import { settingsFor, makeWorkspace } from './support/workspace.js';

for (const [name, start] of Object.entries({
  Electron: launchDesktop,
  'a browser': launchBrowser,
})) {
  test(`an agent thinks, works, asks, is undone, stopped and outlives its page in ${name}`, async (t) => {
    const place = await makeWorkspace(t);
    const settings = JSON.stringify(settingsFor(place.model.url));
    await writeFile(path.join(place.userData, 'settings.json'), settings);
    const host = await start(t, place);
    const list = await host.page('repos');
    await list.getByRole('button', { name: 'Add repository' }).click();
    await list.getByLabel('Folder', { exact: true }).fill(place.repo);
    await list.getByRole('button', { name: 'Add and open' }).click();
    const page = await host.page('repository');
    await page.getByRole('button', { name: 'files indexed' }).waitFor();
    await letAgentWork(place, page);
    if (host.kind === 'browser') await outlive(place, /** @type {any} */ (host), page);
    // A browser that was started again has lost its cookie, and gets a new one by itself.
    const isLetIn = (/** @type {string} */ problem) => /403 \(Forbidden\)$/.test(problem);
    assert.deepEqual(
      host.problems.filter((each) => !isLetIn(each)),
      [],
    );
    assert.equal(await host.quit(), 0);
  });
}
