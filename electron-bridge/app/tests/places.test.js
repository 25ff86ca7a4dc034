/** What is shown, as an address and back; and what the app is started for. */

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { temporaryFolder } from '../../tests/support/fixtures.js';
import { openedText, pageAddress, parseOpened, placeOf } from '../pages/common/page_address.js';
import { findPlace, findStartRequest } from '../src/start_request.js';

const at = (/** @type {string} */ address) => placeOf(new URL(address, 'http://x/'));

test('an address says all that is shown, and leads back to it', () => {
  const place = {
    page: /** @type {const} */ ('repository'),
    repoName: 'a&b c#',
    part: 'search',
    query: 'lang:python "x + y" 登录',
    scope: ['a&b c#', 'd,e'],
    opened: 'src/a b.py:3-12',
    conversation: 1700000000000,
  };
  const { page, ...which } = place;
  assert.deepEqual(at(pageAddress(page, which)), place);
});

test('addresses of earlier versions mean what they meant', () => {
  assert.deepEqual(at('/repository.html?repo=demo#talk'), {
    page: 'repository',
    repoName: 'demo',
    part: 'talk',
  });
  assert.deepEqual(at('/settings.html#models'), { page: 'settings', part: 'models' });
  assert.deepEqual(at('/'), { page: 'repos' });
  assert.deepEqual(at('/repository.html?repo=demo&talk=x'), {
    page: 'repository',
    repoName: 'demo',
  });
});

test('a place in a file is written with lines from 1', () => {
  const lines = { filePath: 'src/a:b.py', beginLine: 9, endLine: 12 };
  assert.equal(openedText(lines), 'src/a:b.py:10-12');
  assert.deepEqual(parseOpened('src/a:b.py:10-12'), lines);
  assert.deepEqual(parseOpened('a.py:7'), { filePath: 'a.py', beginLine: 6, endLine: 6 });
  assert.deepEqual(parseOpened('a.py'), { filePath: 'a.py', beginLine: 0, endLine: 0 });
  assert.equal(parseOpened(''), null);
});

test('the app is started for a link, a folder, or nothing', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'demo'));
  const link = 'codekernel://app/repository.html?repo=demo&q=x';
  const place = { page: 'repository', repoName: 'demo', query: 'x' };
  assert.deepEqual(findStartRequest(['--flag', link], folder), { place });
  assert.deepEqual(findStartRequest(['demo'], folder), { folder: path.join(folder, 'demo') });
  assert.equal(findStartRequest(['--no-sandbox', 'gone'], folder), null);
  assert.equal(findPlace('https://app/repository.html'), null);
});
