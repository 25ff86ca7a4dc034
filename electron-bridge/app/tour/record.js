/**
 * Frames of a tour through Django's code: search, ask, agent. `node app/tour/record.js DJANGO OUT`;
 * scripts/record_tour.py makes a picture of them that moves.
 *
 * Kernel, pages and index are real, and so are the citation's check and the agent's edit, in a copy;
 * only the chat model follows a script.
 */

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { launchBrowser } from '../e2e/support/browser.js';
import { makeWorkspace, settingsFor } from '../e2e/support/workspace.js';
import { waitUntilIndexed } from '../e2e/stories/searching.js';
import { startModel } from './model.js';

const [, , source, out] = process.argv;
const DB = 'django/contrib/sessions/backends/db.py';
const COMMAND = 'django/contrib/sessions/management/commands/clearsessions.py';
const QUERY = 'where are expired sessions deleted';
const QUESTION = 'How do expired sessions get deleted?';
const TASK = 'Let clearsessions say when it has finished.';
const VIEWPORT = { width: 1120, height: 700 };
const TIMEOUT_MS = 120_000;
const CHARACTERS_PER_FRAME = 4;

const cleanups = /** @type {(() => unknown)[]} */ ([]);
const t = /** @type {any} */ ({
  after: (/** @type {() => unknown} */ work) => cleanups.push(work),
  diagnostic: console.error,
});
/** @type {(() => Promise<void>) | undefined} what shows where it went wrong */
let failed;
const frames = /** @type {{ file: string, milliseconds: number }[]} */ ([]);
try {
  await mkdir(out, { recursive: true });
  await record();
  await writeFile(path.join(out, 'frames.json'), JSON.stringify(frames));
} catch (error) {
  await failed?.();
  throw error;
} finally {
  for (const work of cleanups.reverse()) await work();
}

async function record() {
  const place = await makeWorkspace(t, {});
  place.repo = path.join(place.folder, 'django');
  await cp(source, place.repo, { recursive: true });
  const model = await startModel(await writeScript(place.repo));
  t.after(() => model.close());
  const settings = settingsFor(model.url);
  settings.conversationSettings.generationModel[0].name = 'your model';
  await writeFile(path.join(place.userData, 'settings.json'), JSON.stringify(settings));
  const host = await launchBrowser(t, place, { folder: place.repo });
  const page = await host.page('repository');
  await page.setViewportSize(VIEWPORT);
  page.setDefaultTimeout(TIMEOUT_MS);
  failed = () => rest(page, 0);
  await waitUntilIndexed(page);

  const query = page.locator('#query');
  await type(page, query, QUERY);
  await page.getByRole('article').filter({ hasText: 'sessions/backends' }).first().waitFor();
  await rest(page, 2200);

  await page.getByRole('tab', { name: 'Conversation' }).click();
  const box = page.locator('#question');
  await type(page, box, QUESTION);
  await box.press('Enter');
  const turn = page.getByRole('article').filter({ visible: true }).first();
  await turn.locator('.answer-foot').waitFor();
  await rest(page, 2600);

  await page.getByRole('radio', { name: 'Agent' }).check();
  await type(page, box, TASK);
  await box.press('Enter');
  const allow = page.getByRole('button', { name: /^Allow/ }).first();
  await allow.waitFor();
  await rest(page, 1200);
  const edit = page.getByRole('button', { name: /^edit_file/ }).first();
  await edit.click();
  await rest(page, 1600);
  await edit.click();
  await allow.click();
  await page.getByText('It says so now').first().waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
  await rest(page, 2200);
}

/**
 * What the model says, with the lines as this Django has them.
 *
 * @param {string} repo
 */
async function writeScript(repo) {
  const [db, command] = await Promise.all([
    linesOf(path.join(repo, DB), 'def clear_expired', 1),
    linesOf(path.join(repo, COMMAND), 'def handle', 10),
  ]);
  const anchor = { type: 'exact', pattern: 'engine.SessionStore.clear_expired()\n' };
  const content = '            self.stdout.write("Expired sessions are gone.")\n';
  const hunk = { op: 'insert_after', anchor, content };
  return {
    searches: ['clear_expired', 'clearsessions command'],
    answer:
      `\`clearsessions\` asks the session engine to clean up (\`${COMMAND}:${command}\`). ` +
      `With sessions in the database, rows whose \`expire_date\` has passed are deleted by one query ` +
      `(\`${DB}:${db}\`).\n\nNothing does this by itself: run the command from cron.`,
    rounds: [
      {
        says: 'I read the command first.',
        calls: /** @type {[string, object][]} */ ([
          ['plan', { action: 'skip' }],
          ['read_file', { path: COMMAND }],
        ]),
      },
      {
        calls: /** @type {[string, object][]} */ ([
          ['edit_file', { path: COMMAND, mode: 'patch', hunks: [hunk] }],
          ['run_command', { command: `python -m py_compile ${COMMAND} && echo compiled` }],
        ]),
      },
      { says: 'It says so now, and the file compiles.' },
    ],
  };
}

/**
 * The lines from one with these words on, as a citation has them.
 *
 * @param {string} file
 * @param {string} words
 * @param {number} more
 */
async function linesOf(file, words, more) {
  const lines = (await readFile(file, 'utf8')).split('\n');
  const first = lines.findIndex((line) => line.includes(words)) + 1;
  return `${first}-${Math.min(first + more, lines.length - 1)}`;
}

/**
 * @param {import('playwright-core').Page} page
 * @param {import('playwright-core').Locator} field
 * @param {string} words
 */
async function type(page, field, words) {
  await field.click();
  for (let at = 0; at < words.length; at += CHARACTERS_PER_FRAME) {
    await field.pressSequentially(words.slice(at, at + CHARACTERS_PER_FRAME));
    await rest(page, 100);
  }
}

/**
 * Show the page as it is now for so long.
 *
 * @param {import('playwright-core').Page} page
 * @param {number} milliseconds
 */
async function rest(page, milliseconds) {
  const file = path.join(out, `${String(frames.length).padStart(3, '0')}.png`);
  await page.screenshot({ path: file, animations: 'disabled' });
  frames.push({ file, milliseconds });
}
