/** The same pages in a real browser, served by `codekernel web`. */

import { spawn } from 'node:child_process';
import { on } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { chromium } from 'playwright-core';

import { collectProblems, TIMEOUT_MS } from './desktop.js';
import { chromiumProgram, FLAGS, PROJECT, python } from './programs.js';
import { killKernels } from './terminal.js';

/** What the command prints when it can be opened. */
const ADDRESS = /^Open (http:\/\/127\.0\.0\.1:\d+\/\S*)$/;

/**
 * @param {import('node:test').TestContext} t
 * @param {import('./workspace.js').Workspace} place
 * @param {{ locale?: string, folder?: string }} [options] `folder`: where the command is run
 * @returns {Promise<import('./desktop.js').Host & {
 *   address: string, kill(): Promise<unknown>, stop(): Promise<unknown>,
 *   reopen(): Promise<import('playwright-core').Page>,
 * }>} `reopen`: another run of the browser with what it keeps, and an empty page
 */
export async function launchBrowser(
  t,
  place,
  { locale = 'en-US', folder = place.environ.HOME } = {},
) {
  const { server, ended, address } = await startServer(t, place, folder);
  const profile = await mkdtemp(path.join(os.tmpdir(), 'codekernel-browser-'));
  const open = () =>
    chromium.launchPersistentContext(profile, {
      executablePath: chromiumProgram(),
      args: FLAGS,
      viewport: { width: 1240, height: 820 },
      locale,
    });
  let browser = await open();
  t.after(async () => {
    await browser.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 10 });
  });
  /** @type {string[]} */
  const problems = [];
  const firstPage = () => {
    const [page] = browser.pages();
    page.setDefaultTimeout(TIMEOUT_MS);
    collectProblems(page, problems);
    return page;
  };
  const page = firstPage();
  await page.goto(address);
  return {
    kind: 'browser',
    problems,
    address,
    async page(name) {
      await page.waitForURL((url) => url.pathname === `/${name}.html`);
      return page;
    },
    kernelPid: async () => Number(server.pid),
    kill() {
      server.kill('SIGKILL');
      return ended;
    },
    stop() {
      server.kill('SIGINT');
      return ended;
    },
    async reopen() {
      await browser.close();
      browser = await open();
      return firstPage();
    },
    async quit() {
      await browser.close();
      server.kill('SIGINT');
      return /** @type {Promise<number | null>} */ (ended);
    },
  };
}

/**
 * `codekernel web`, until the end of the test.
 *
 * @param {import('node:test').TestContext} t
 * @param {import('./workspace.js').Workspace} place
 * @param {string | undefined} folder where it is run
 */
export async function startServer(t, place, folder) {
  const server = spawn(python(), ['-m', 'codekernel', 'web', '--no-browser'], {
    cwd: folder,
    env: { ...place.environ, PYTHONPATH: path.join(PROJECT, 'kernel') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => server.once('exit', (code) => resolve(code)));
  t.after(async () => {
    if (server.exitCode === null && server.signalCode === null) server.kill('SIGKILL');
    await ended;
    killKernels(place.folder);
  });
  return { server, ended, address: await addressOf(server, t) };
}

/**
 * @param {import('node:child_process').ChildProcess} server
 * @param {import('node:test').TestContext} t
 */
async function addressOf(server, t) {
  const errors = readline.createInterface({ input: /** @type {any} */ (server.stderr) });
  errors.on('line', (line) => t.diagnostic(line));
  const lines = readline.createInterface({ input: /** @type {any} */ (server.stdout) });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  for await (const [line] of on(lines, 'line', { signal })) {
    const found = ADDRESS.exec(line);
    if (found) return found[1];
  }
}
