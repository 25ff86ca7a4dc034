/** The app in a real Electron, driven by Playwright. */

import { readFileSync } from 'node:fs';
import { _electron } from 'playwright-core';

import { pagesUnderTest } from './axe.js';
import { ensureDisplay } from './display.js';
import { APP, electronProgram, FLAGS, python as usualPython } from './programs.js';
import { killKernels } from './terminal.js';

/** What a person waits for comes within this, on a machine that others use too. */
export const TIMEOUT_MS = 60_000;

/** A change of the address within a page loads nothing. */
const WAIT = /** @type {const} */ ({ timeout: TIMEOUT_MS, waitUntil: 'commit' });

/** @typedef {import('playwright-core').Page} Page */

/**
 * A host of pages; the browser's has the same shape.
 *
 * @typedef {{
 *   kind: 'electron' | 'browser',
 *   page(name: string): Promise<Page>,
 *   kernelPid(): Promise<number>,
 *   quit(): Promise<number | null>,
 *   problems: string[],
 * }} Host
 */

/**
 * @param {import('node:test').TestContext} t
 * @param {import('./workspace.js').Workspace} place
 * @param {{ program?: string, args?: string[], locale?: string, python?: string }} [options]
 *   `program`: a packaged app, which has its own kernel; `python`: another one than the project's
 * @returns {Promise<Host & { app: import('playwright-core').ElectronApplication }>}
 */
export async function launchDesktop(t, place, options = {}) {
  const { program, args = [APP], locale = 'en-US', python = usualPython() } = options;
  const app = await _electron.launch({
    executablePath: program ?? electronProgram(),
    args: [...FLAGS, `--lang=${locale}`, ...args],
    cwd: place.folder,
    env: /** @type {any} */ ({
      ...place.environ,
      ...(program ? {} : { CODEKERNEL_PYTHON: python }),
      DISPLAY: await ensureDisplay(t),
    }),
    timeout: TIMEOUT_MS,
  });
  const child = app.process(); // Playwright forgets it when it ends
  const ended = new Promise((resolve) => child.once('exit', resolve));
  t.after(async () => {
    if (child.exitCode === null) child.kill('SIGKILL');
    await ended;
    killKernels(place.folder);
  });
  /** @type {string[]} */
  const problems = [];
  app.on('window', (page) => collectProblems(page, problems));
  for (const page of app.windows()) collectProblems(page, problems);
  return {
    kind: 'electron',
    app,
    problems,
    page: (name) => windowOf(app, name),
    kernelPid: async () => childOf(Number(child.pid)),
    async quit() {
      await app
        .evaluate(({ app: electron }) => setImmediate(() => electron.quit()))
        .catch(() => {});
      return ended;
    },
  };
}

/**
 * The window that shows this page, as soon as there is one.
 *
 * @param {import('playwright-core').ElectronApplication} app
 * @param {string} name
 */
async function windowOf(app, name) {
  const shows = (/** @type {Page} */ page) => new URL(page.url()).pathname === `/${name}.html`;
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  for (;;) {
    const there = app.windows().find(shows);
    if (there) {
      there.setDefaultTimeout(TIMEOUT_MS);
      return there;
    }
    if (deadline.aborted) throw new Error(`No window shows ${name}.html within ${TIMEOUT_MS} ms.`);
    const more = app.waitForEvent('window', { timeout: TIMEOUT_MS });
    const arrivals = app
      .windows()
      .map((page) => page.waitForURL((url) => url.pathname === `/${name}.html`, WAIT));
    await Promise.race([more, ...arrivals].map((each) => each.catch(() => null)));
  }
}

/**
 * What went wrong inside a page belongs to the test that watches it.
 *
 * @param {Page} page
 * @param {string[]} problems
 */
export function collectProblems(page, problems) {
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.stack ?? error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' || pagesUnderTest.has(page)) return;
    const { url } = message.location();
    if (!url.endsWith('/favicon.ico')) problems.push(`${url}: ${message.text()}`);
  });
}

/**
 * The kernel among the children of a process. Linux only, as the stories are.
 *
 * @param {number} pid
 */
export function childOf(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/);
  const kernel = children.find((child) => {
    const words = readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0');
    return words.includes('serve');
  });
  if (!kernel) throw new Error(`None of the processes ${children.join(', ')} is a kernel.`);
  return Number(kernel);
}
