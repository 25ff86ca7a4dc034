/** Agents on a phone: the page that `codekernel hub` serves, in a browser of 390 px. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { launchPhone, prepareAgents, startHub } from './support/hub.js';
import { makeWorkspace } from './support/workspace.js';

test('try', async (t) => {
  const place = await makeWorkspace(t);
  await prepareAgents(place);
  const hub = await startHub(t, place);
  const { page, problems } = await launchPhone(t);
  const shot = (name) => page.screenshot({ path: `/tmp/phone/${name}.png` });
  try {
    await page.goto(hub.address);
    await page.getByRole('button', { name: 'Start an agent' }).waitFor();
    await shot('1-empty');
    await page.getByRole('button', { name: 'Start an agent' }).click();
    await page.getByLabel('First message').fill('Make a friendlier greeting');
    await shot('2-start');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
    await page.waitForTimeout(1000);
    await shot('3-permission');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByLabel('Message to the agent').fill('and then run it again');
    await page.getByRole('button', { name: 'Queue' }).click();
    await page.waitForTimeout(1000);
    await shot('4-running');
    await writeFile(path.join(place.repo, 'go'), '');
    await page.getByText('wants to delete').waitFor();
    await page.waitForTimeout(1000);
    await shot('5-delete');
  } catch (e) {
    await shot('failed');
    console.log(await page.evaluate(() => document.body.innerText));
    console.log(problems());
    throw e;
  }
  assert.deepEqual(problems(), []);
});
