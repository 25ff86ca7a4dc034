/** `codekernel hub` as a process, and phones that are paired with it. */

import { spawn } from 'node:child_process';
import { on } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import readline from 'node:readline';
import { after } from 'node:test';
import { chromium } from 'playwright-core';

import { collectProblems, TIMEOUT_MS } from './desktop.js';
import { chromiumProgram, FLAGS, PROJECT, python } from './programs.js';
import { codekernel, killKernels } from './terminal.js';
import { settingsFor } from './workspace.js';

const ADDRESS = /^Open (http:\/\/127\.0\.0\.1:(\d+)\/\S*)$/;

/** As large as an iPhone's. */
export const PHONE = { width: 390, height: 844 };

/**
 * A browser says on the console that a connection failed, which is what some stories are about.
 */
const LOST_CONNECTION = /ERR_(?:CONNECTION|INCOMPLETE|NETWORK|INTERNET|EMPTY)|status of 40[14]/;

/** @typedef {import('./workspace.js').Workspace} Workspace */
/** @typedef {{ address: string, port: number, kill(): Promise<unknown> }} Hub `address` has a code */

/**
 * A repository that the kernel knows, and a model that follows the script.
 *
 * @param {Workspace} place
 */
export async function prepareAgents(place) {
  const settings = JSON.stringify(settingsFor(place.model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  await codekernel(place, place.folder, 'repos', 'add', place.repo);
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Workspace} place
 * @param {number} [port] 0: any
 * @returns {Promise<Hub>}
 */
export async function startHub(t, place, port = 0) {
  const hub = spawn(python(), ['-m', 'codekernel', 'hub', '--port', String(port)], {
    cwd: place.folder,
    env: { ...place.environ, PYTHONPATH: path.join(PROJECT, 'kernel') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => hub.once('exit', resolve));
  const kill = () => {
    if (hub.exitCode === null && hub.signalCode === null) hub.kill('SIGKILL');
    return ended;
  };
  t.after(async () => {
    await kill();
    killKernels(place.folder);
  });
  const errors = readline.createInterface({ input: hub.stderr });
  errors.on('line', (line) => t.diagnostic(line));
  const lines = readline.createInterface({ input: hub.stdout });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  for await (const [line] of on(lines, 'line', { signal })) {
    const found = ADDRESS.exec(line);
    if (found) return { address: found[1], port: Number(found[2]), kill };
  }
}

/**
 * An address with another code.
 *
 * @param {Workspace} place
 */
export async function makePairingAddress(place) {
  const printed = await codekernel(place, place.folder, 'hub', 'pair');
  return String(/^Open (\S+)$/m.exec(printed)?.[1]);
}

/** @type {Promise<import('playwright-core').Browser> | undefined} */
let browser;

/** Starting one takes seconds; what one phone keeps no other sees, because contexts share nothing. */
function shareBrowser() {
  browser ??= chromium.launch({ executablePath: chromiumProgram(), args: FLAGS });
  return browser;
}

after(async () => {
  const launched = await browser;
  await launched?.close();
});

/**
 * A phone: its cookies, caches and size are its own.
 *
 * @param {import('node:test').TestContext} t
 * @param {{ viewport?: { width: number, height: number }, userAgent?: string }} [options]
 */
export async function launchPhone(t, { viewport = PHONE, userAgent } = {}) {
  const program = await shareBrowser();
  const isPhone = viewport.width < 600;
  const context = await program.newContext({
    viewport,
    locale: 'en-US',
    hasTouch: isPhone,
    deviceScaleFactor: isPhone ? 2 : 1,
    ...(userAgent && { userAgent }),
  });
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  /** @type {string[]} */
  const problems = [];
  collectProblems(page, problems);
  return {
    page,
    context,
    /** What went wrong in the page, besides connections that a story has cut. */
    problems: () => problems.filter((each) => !LOST_CONNECTION.test(each)),
  };
}

/**
 * Start an agent in the only repository; ends when its session is shown.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} text the first message
 */
export async function startAgent(page, text) {
  await page.getByRole('button', { name: 'Start an agent' }).click();
  await page.getByLabel('First message').fill(text);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.locator('.question-text', { hasText: text }).waitFor();
}

/**
 * What can be pressed and is smaller than a fingertip: 44 px each way, but for what stands in a text.
 *
 * @param {import('playwright-core').Page} page
 * @returns {Promise<string[]>}
 */
export function findSmallTargets(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll('button, a, input, select, textarea, summary')]
      .filter((each) => !each.closest('.markdown, .skip-link, .toasts, label'))
      .map((each) => ({ name: each.outerHTML.slice(0, 120), box: each.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0 && (box.height < 43.5 || box.width < 43.5))
      .map(({ name, box }) => `${name}: ${box.width} x ${box.height}`),
  );
}

/**
 * Wait until the browser has the files of the page.
 *
 * @param {import('playwright-core').Page} page
 */
export function waitForShell(page) {
  return page.evaluate(async () => {
    while (!(await caches.match('/agents/main.js'))) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
}
