/** Text of others stays text, in both hosts: names, contents, answers. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { makeHostile, stayText } from './stories/hostile.js';
import { browser } from './support/browser.js';
import { desktop } from './support/desktop.js';
import { workplace } from './support/workplace.js';

for (const [name, start] of Object.entries({ Electron: desktop, 'a browser': browser })) {
  test(`a hostile repository and a hostile model are only text in ${name}`, async (t) => {
    const place = await workplace(t);
    await makeHostile(place);
    const host = await start(t, place);
    await stayText(host, place);
    // A script or a style that the policy had to refuse would be a complaint here.
    assert.deepEqual(host.problems, []);
    assert.equal(await host.quit(), 0);
  });
}
