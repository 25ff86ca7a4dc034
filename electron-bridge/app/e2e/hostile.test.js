/** Text of others stays text, in both hosts: names, contents, answers. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { makeHostile, stayText } from './stories/hostile.js';
import { launchBrowser } from './support/browser.js';
import { launchDesktop } from './support/desktop.js';
import { makeWorkspace } from './support/workspace.js';

for (const [name, start] of Object.entries({
  Electron: launchDesktop,
  'a browser': launchBrowser,
})) {
  test(`a hostile repository and a hostile model are only text in ${name}`, async (t) => {
    const place = await makeWorkspace(t);
    await makeHostile(place);
    const host = await start(t, place);
    await stayText(host, place);
    // A script or a style that the policy had to refuse would be a complaint here.
    assert.deepEqual(host.problems, []);
    assert.equal(await host.quit(), 0);
  });
}
