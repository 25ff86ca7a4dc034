/** The agents' page as files: its words, its manifest and its icons. */

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { en } from '../pages/agents/texts/en.js';
import { zh } from '../pages/agents/texts/zh.js';
import { findDifferences } from '../pages/common/text_format.js';
import { en as commonEn } from '../pages/common/texts/en.js';
import { en as repositoryEn } from '../pages/repository/texts/en.js';

const PAGES = fileURLToPath(new URL('../pages/', import.meta.url));
const ASKED = /\bt(?:Parts)?\(\s*'([\w.-]+)'/g;

test('English and Chinese have the same words, and everything the page asks for', () => {
  assert.deepEqual(findDifferences(en, zh), []);
  const known = { ...commonEn, ...repositoryEn, ...en };
  const scripts = readdirSync(`${PAGES}agents`, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.js'))
    .map((entry) => readFileSync(path.join(entry.parentPath ?? entry.path, entry.name), 'utf8'));
  const asked = scripts.flatMap((text) => [...text.matchAll(ASKED)].map(([, key]) => key));
  assert.ok(asked.length > 50);
  assert.deepEqual(
    asked.filter((key) => !(key in known)),
    [],
  );
  const same = Object.keys(en).filter((key) => typeof en[key] === 'string' && en[key] === zh[key]);
  assert.deepEqual(same, []);
});

test('the icons of the manifest are there, as large as it says', () => {
  const { icons, start_url, scope } = JSON.parse(
    readFileSync(`${PAGES}agents.webmanifest`, 'utf8'),
  );
  assert.deepEqual([start_url, scope], ['/', '/']);
  const pictures = icons.filter((/** @type {any} */ { type }) => type === 'image/png');
  assert.equal(pictures.length, 3);
  for (const { src, sizes } of pictures) {
    const picture = readFileSync(PAGES + src);
    assert.equal(`${picture.readUInt32BE(16)}x${picture.readUInt32BE(20)}`, sizes, src);
  }
});
