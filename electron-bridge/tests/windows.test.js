import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import {
  CONTENT_SECURITY_POLICY,
  goOffline,
  guardContents,
  guardSession,
  OFFLINE_SWITCHES,
  pageResponse,
  PAGES_SCHEME,
  secureWindow,
} from '../src/index.js';
import { temporaryFolder } from './support/fixtures.js';

test('what makes a window safe cannot be switched off', () => {
  const { width, webPreferences } = secureWindow({
    preload: '/preload.cjs',
    width: 800,
    webPreferences: {
      nodeIntegration: true,
      sandbox: false,
      contextIsolation: false,
      zoomFactor: 2,
    },
  });
  assert.equal(width, 800);
  assert.equal(webPreferences.zoomFactor, 2);
  assert.equal(webPreferences.nodeIntegration, false);
  assert.equal(webPreferences.sandbox, true);
  assert.equal(webPreferences.contextIsolation, true);
});

test('a window stays on its page, and only https links are offered to the browser', () => {
  const offered = [];
  let handler;
  const contents = Object.assign(new EventEmitter(), {
    setWindowOpenHandler: (given) => (handler = given),
  });
  guardContents(contents, { openExternal: (url) => offered.push(url) });
  let prevented = 0;
  const event = (url) => ({ url, preventDefault: () => (prevented += 1) });
  contents.emit('will-navigate', event('https://example.com/a'));
  contents.emit('will-navigate', event('file:///etc/passwd'));
  contents.emit('will-redirect', event('https://example.com/b'));
  contents.emit('will-attach-webview', event('https://example.com/c'));
  assert.equal(prevented, 4);
  assert.deepEqual(handler({ url: 'javascript:alert(1)' }), { action: 'deny' });
  assert.deepEqual(handler({ url: 'https://example.com/d' }), { action: 'deny' });
  assert.deepEqual(offered, ['https://example.com/a', 'https://example.com/d']);
});

test('nothing is fetched but the pages of the app, and nothing is permitted', () => {
  let ask, check, before, spelling, languages;
  guardSession(
    {
      setSpellCheckerEnabled: (given) => (spelling = given),
      setSpellCheckerLanguages: (given) => (languages = given),
      setPermissionRequestHandler: (given) => (ask = given),
      setPermissionCheckHandler: (given) => (check = given),
      webRequest: { onBeforeRequest: (given) => (before = given) },
    },
    { scheme: PAGES_SCHEME },
  );
  const isCancelled = (url) => {
    let said;
    before({ url }, (answer) => (said = answer.cancel));
    return said;
  };
  assert.equal(isCancelled('codekernel://app/index.html'), false);
  for (const url of [
    'https://example.com/',
    'http://127.0.0.1/',
    'file:///etc/passwd',
    'ws://x/',
  ]) {
    assert.equal(isCancelled(url), true, url);
  }
  ask({}, 'camera', (answer) => assert.equal(answer, false));
  assert.equal(check(), false);
  assert.equal(spelling, false); // else its dictionaries are fetched
  assert.deepEqual(languages, []);
});

test('Chromium is told to resolve no host name before it starts', () => {
  const said = [];
  goOffline({ commandLine: { appendSwitch: (...words) => said.push(words) } });
  assert.deepEqual(said[0], ['host-resolver-rules', 'MAP * ~NOTFOUND']);
  assert.deepEqual(
    said.map(([name]) => name),
    Object.keys(OFFLINE_SWITCHES),
  );
});

test('pages come with their policy, and only from their folder', async (t) => {
  const folder = await temporaryFolder(t);
  const pages = path.join(folder, 'pages');
  await mkdir(pages);
  await writeFile(path.join(pages, 'a b.html'), '<p>hello');
  await writeFile(path.join(folder, 'secret.json'), '{}');
  await symlink(path.join(folder, 'secret.json'), path.join(pages, 'link.json'));
  const page = await pageResponse({ url: 'codekernel://app/a%20b.html?x=1' }, pages);
  assert.equal(await page.text(), '<p>hello');
  assert.equal(page.headers.get('content-security-policy'), CONTENT_SECURITY_POLICY);
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  for (const place of [
    'codekernel://app/../secret.json',
    'codekernel://app/%2e%2e/secret.json',
    'codekernel://app/..%2fsecret.json',
    'codekernel://app/link.json',
    'codekernel://app/none.html',
    'codekernel://app/%00.html',
    'codekernel://app/%ff.html',
    'codekernel://app/',
    'codekernel://other/a%20b.html',
  ]) {
    assert.equal((await pageResponse({ url: place }, pages)).status, 404, place);
  }
});

test('the policy lets no script in from elsewhere, nor any that stands in a page', () => {
  assert.match(CONTENT_SECURITY_POLICY, /default-src 'none'/);
  assert.match(CONTENT_SECURITY_POLICY, /script-src 'self'(;|$)/);
  assert.doesNotMatch(CONTENT_SECURITY_POLICY, /unsafe|https?:|\*/);
});
