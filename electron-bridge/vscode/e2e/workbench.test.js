/**
 * The packed extension in a real workbench of VS Code, with a real kernel: what a person does.
 *
 * `python scripts/check_vscode.py` brings the workbench (code-server) and runs this.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { chromium } from 'playwright-core';

import { chromiumProgram, FLAGS } from '../../app/e2e/support/programs.js';
import { chatEndpoint } from '../../tests/support/chat_endpoint.js';

const { CODEKERNEL_CODE_SERVER, CODEKERNEL_NODE, CODEKERNEL_VSIX, CODEKERNEL_PYTHON } = process.env;
const PICTURES = process.env.CODEKERNEL_PICTURES;
const TIMEOUT_MS = 60_000;
const FILES = {
  'hello.py': 'def hello():\n    return 1 < 2\n\n\ndef greet():\n    return hello()\n',
  'sessions.py':
    'class Session:\n    def close(self):\n        """End the session and refuse waiting requests."""\n        self.closed = True\n',
  'connections.py':
    'class Connection:\n    def close(self):\n        """End the connection and refuse waiting requests."""\n        self.closed = True\n',
};

test('the extension searches, asks and follows calls in a workbench', async (t) => {
  const world = await openWorld(t);
  const { page } = world;
  await page.locator('.statusbar-item', { hasText: 'codekernel' }).waitFor();

  await run(page, 'codekernel: Search the Code');
  const search = await frameOf(page, 'search');
  await search.locator('input').fill('refuse waiting requests of a session');
  const first = search.locator('.result').first();
  await search.locator('.result', { hasText: 'sessions.py' }).waitFor();
  assert.ok(await search.locator('mark').count(), 'words are marked');
  await picture(page, 'search');
  await first.focus();
  await first.press('Enter');
  await page.locator('.tab.active', { hasText: 's.py' }).waitFor();

  await search.locator('.result', { hasText: 'sessions.py' }).getByText('like this').click();
  const places = page.locator('.pane', { hasText: 'Callers and Related Code' });
  await places.locator('.monaco-list-row', { hasText: 'connections.py' }).waitFor();

  await run(page, 'codekernel: Search as You Type');
  await page.locator('.quick-input-widget input').first().fill('hello');
  const item = page.locator('.quick-input-widget .monaco-list-row', { hasText: 'hello.py:1' });
  await item.waitFor();
  await picture(page, 'quick_search');
  await item.click();
  await page.locator('.tab.active', { hasText: 'hello.py' }).waitFor();

  await page.locator('.editor-instance .view-line', { hasText: 'def hello' }).click();
  await page.keyboard.press('Control+Home');
  for (let step = 0; step < 5; step += 1) await page.keyboard.press('ArrowRight');
  await page.locator('.statusbar-item', { hasText: 'Ln 1, Col 6' }).waitFor();
  await run(page, 'codekernel: Show Callers');
  await places.locator('.monaco-list-row', { hasText: 'greet' }).waitFor();
  await picture(page, 'callers');

  await run(page, 'codekernel: Ask about the Code');
  const ask = await frameOf(page, 'ask');
  await ask.locator('textarea').fill('What does hello do?');
  await ask.locator('textarea').press('Enter');
  const citation = ask.getByRole('button', { name: 'hello.py:1-2' });
  await citation.waitFor();
  await picture(page, 'ask');
  await citation.click();
  await page.locator('.tab.active', { hasText: 'hello.py' }).waitFor();

  await run(page, 'codekernel: Pause or Resume Indexing');
  await run(page, 'codekernel: Show the State of the Index');
  await page.locator('.quick-input-widget', { hasText: 'Resume Indexing' }).waitFor();
  await page.keyboard.press('Escape');

  await run(page, 'MCP: List Servers');
  await page.locator('.quick-input-widget .monaco-list-row', { hasText: 'codekernel' }).waitFor();
});

/** A folder, a kernel's userData, a workbench with the extension, and a browser that shows it. */
async function openWorld(t) {
  const root = await mkdtemp(path.join(os.tmpdir(), 'workbench-'));
  const [folder, data, extensions, userData] = ['demo', 'data', 'extensions', 'userData'].map(
    (name) => path.join(root, name),
  );
  for (const each of [folder, path.join(data, 'User'), extensions, userData]) {
    await mkdir(each, { recursive: true });
  }
  for (const [name, text] of Object.entries(FILES)) await writeFile(path.join(folder, name), text);
  await writeFile(path.join(userData, 'settings.json'), kernelSettings(await chatEndpoint(t)));
  const editorSettings = { 'codekernel.path': CODEKERNEL_PYTHON, 'chat.disableAIFeatures': false };
  await writeFile(path.join(data, 'User', 'settings.json'), JSON.stringify(editorSettings));
  const places = ['--user-data-dir', data, '--extensions-dir', extensions];
  const environ = { ...process.env, HOME: root, CODEKERNEL_USER_DATA: userData };
  const entry = path.join(CODEKERNEL_CODE_SERVER, 'out', 'node', 'entry.js');
  const options = { env: { ...environ, CODEKERNEL_STANDALONE: '1' }, stdio: 'pipe' };
  const install = spawn(
    CODEKERNEL_NODE,
    [entry, ...places, '--install-extension', CODEKERNEL_VSIX],
    options,
  );
  assert.equal(await new Promise((resolve) => install.on('exit', resolve)), 0);
  const flags = ['--auth', 'none', '--disable-telemetry', '--disable-update-check'];
  const server = spawn(
    CODEKERNEL_NODE,
    [entry, ...places, ...flags, '--disable-workspace-trust', '--bind-addr', '127.0.0.1:0', folder],
    options,
  );
  const url = await addressOf(server);
  const browser = await chromium.launch({ executablePath: chromiumProgram(), args: FLAGS });
  t.after(async () => {
    await picture(page, 'last');
    await browser.close();
    const ended = new Promise((resolve) => server.on('exit', resolve));
    server.kill();
    await ended;
    await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  page.setDefaultTimeout(TIMEOUT_MS);
  await page.goto(`${url}/?folder=${encodeURIComponent(folder)}`);
  return { page };
}

/** The address that a server says it listens at. */
function addressOf(server) {
  return new Promise((resolve, reject) => {
    let said = '';
    server.stdout.on('data', (piece) => {
      said += piece;
      const found = /HTTP server listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(said);
      if (found) resolve(found[1]);
    });
    server.on('exit', () => reject(new Error(said)));
    server.stderr.resume();
  });
}

function kernelSettings(url) {
  const model = { name: 'model', modelName: 'scripted-1', url, setApiKey: false };
  return JSON.stringify({
    searchSettings: {
      searchLimit: 10,
      embeddingConfig: {
        configs: [
          { name: 's', modelName: 'codekernel-static-v3', inputLength: 950, selected: true },
        ],
      },
      rerankConfig: { configs: [] },
    },
    localModelManagement: { models: [] },
    conversationSettings: { generationModel: [model], historyLength: 1000 },
    performance: { maxThreads: 0, useCuda: false, useCoreML: false },
  });
}

/** Run a command by its name, as a person does. */
async function run(page, name) {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input').first().fill(`>${name}`);
  await page.locator('.quick-input-widget .monaco-list-row', { hasText: name }).first().click();
}

/** The frame in a frame in a frame in which a view's page lies. */
async function frameOf(page, name) {
  const deadline = Date.now() + TIMEOUT_MS;
  while (Date.now() < deadline) {
    for (const frame of page.frames()) {
      const shown = await frame.evaluate(() => document.body?.dataset.page).catch(() => '');
      if (shown === name) return frame;
    }
    await page.waitForTimeout(200);
  }
  throw new Error(`there is no page ${name}`);
}

async function picture(page, name) {
  if (PICTURES) await page.screenshot({ path: path.join(PICTURES, `${name}.png`) });
}
