/** A repository, and a model, that would like to be more than text. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { mkdir, rename, writeFile } from 'node:fs/promises';

import { writeFiles, settingsFor } from '../support/workspace.js';
import { askAtOnce } from './conversation.js';
import { waitUntilIndexed } from './searching.js';

const IMAGE = '<img src=x onerror="window.hacked=1">';
export const HOSTILE_NAME = 'demo <img src=x onerror=window.hacked=8> & "more"';
const FILES = {
  [`${IMAGE}.py`]: `def pwned():\n    """</pre></code><script>window.hacked=2</script>${IMAGE}"""\n`,
  'a<svg onload=window.hacked=3>b/<b>bold<%2fb>.html': `<!-- pwned --><script>window.hacked=4</script>${IMAGE}\n`,
  'javascript:window.hacked=5.js':
    'export const pwned = "<iframe srcdoc=`<script>parent.hacked=6</script>`>";\n',
  'quote".md': `# pwned ${IMAGE}\n\n<details open ontoggle="window.hacked=7"><summary>x</summary></details>\n`,
  "it's `here`.ts": `export function pwned(): string {\n  return '\${IMAGE}\\u003cscript>';\n}\n`,
};

/** What must never be in a page: elements that only such text could have made. */
const FOREIGN =
  'img[src="x"], iframe, main script, svg[onload], [onerror], [onclick], [ontoggle], a[href^="javascript:"]';

/**
 * Fills the workplace with it, before a host is started.
 *
 * @param {import('../support/workspace.js').Workspace} place
 */
export async function makeHostile(place) {
  const repo = path.join(path.dirname(place.repo), HOSTILE_NAME);
  await rename(place.repo, repo);
  place.repo = repo;
  await writeFiles(repo, FILES);
  await mkdir(place.userData, { recursive: true });
  const settings = JSON.stringify(settingsFor(place.model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
}

/**
 * @param {import('../support/desktop.js').Host} host
 * @param {import('../support/workspace.js').Workspace} place
 */
export async function stayText(host, place) {
  const list = await host.page('repos');
  await list.evaluate(
    ([repoName, folder]) => window.kernel.createRepo({ repoName, path: folder }),
    [HOSTILE_NAME, place.repo],
  );
  await list.reload();
  const link = list.getByRole('link', { name: HOSTILE_NAME });
  await link.waitFor();
  await isHarmless(list);
  await link.click();
  const page = await host.page('repository');
  await page.getByRole('heading', { name: HOSTILE_NAME }).waitFor();
  await waitUntilIndexed(page);

  await page.locator('#query').fill('pwned');
  const results = page.getByRole('article');
  for (const name of [`${IMAGE}.py`, 'javascript:window.hacked=5.js', 'quote".md']) {
    await results.filter({ hasText: name }).first().waitFor();
  }
  await isHarmless(page);
  await results
    .filter({ hasText: `${IMAGE}.py` })
    .first()
    .getByRole('button')
    .first()
    .click();
  await page.getByRole('region', { name: `${IMAGE}.py` }).waitFor();
  await isHarmless(page);
  await page.keyboard.press('Escape');

  await page.getByRole('tab', { name: 'Index' }).click();
  await isHarmless(page);
  await askAtOnce(page, `Be hostile ${IMAGE}`);
  const turn = page.getByRole('article').filter({ visible: true }).first();
  await turn.locator('.answer-foot').waitFor();
  await turn.getByText('window.hacked = 2').waitFor();
  await isHarmless(page);
  for (const tried of await turn.getByRole('link').all()) await tried.click();
  await isHarmless(page);
  await page.getByRole('tab', { name: 'Usage' }).click();
  await isHarmless(page);
}

/** @param {import('playwright-core').Page} page */
async function isHarmless(page) {
  const found = await page.evaluate((foreign) => {
    const elements = [...document.querySelectorAll(foreign)].map((one) => one.outerHTML);
    return { hacked: /** @type {any} */ (window).hacked ?? null, elements };
  }, FOREIGN);
  assert.deepEqual(found, { hacked: null, elements: [] });
}
