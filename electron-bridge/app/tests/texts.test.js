/** Both dictionaries say the same things, and everything the pages ask for is in them. */

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import {
  addLanguage,
  addTexts,
  listLanguages,
  locale,
  setLanguage,
  t,
  tParts,
} from '../pages/common/i18n.js';
import { findDifferences } from '../pages/common/text_format.js';
import { en } from '../pages/common/texts/en.js';
import { zh } from '../pages/common/texts/zh.js';

const PAGES = fileURLToPath(new URL('../pages/', import.meta.url));
const MINE = ['common', 'repos', 'settings'];
/** A word by its whole name: the first letters of `t('...')` up to the quote. */
const ASKED = /\bt(?:Parts)?\(\s*'([\w.]+)'/g;

function sources() {
  return MINE.flatMap((folder) =>
    readdirSync(PAGES + folder)
      .filter((name) => name.endsWith('.js'))
      .map((name) => readFileSync(`${PAGES}${folder}/${name}`, 'utf8')),
  );
}

test('English and Chinese have the same words with the same places in them', () => {
  assert.deepEqual(findDifferences(en, zh), []);
});

test('a missing word and a missing place would be noticed', () => {
  assert.deepEqual(findDifferences({ a: 'x', b: '{n} files' }, { b: 'Dateien' }), ['a', 'b']);
  assert.deepEqual(
    findDifferences({ a: { one: '{n} file', other: '{n} files' } }, { a: '{n} 个' }),
    [],
  );
});

test('every word that a page asks for is there', () => {
  const asked = sources().flatMap((text) => [...text.matchAll(ASKED)].map(([, key]) => key));
  assert.ok(asked.length > 100);
  assert.deepEqual(
    [...new Set(asked)].filter((key) => !(key in en)),
    [],
  );
});

test('no Chinese word is still English', () => {
  const same = Object.keys(en).filter((key) => typeof en[key] === 'string' && en[key] === zh[key]);
  assert.deepEqual(same, []);
});

test('a text is filled in the language that is chosen, plurals too', () => {
  setLanguage('en');
  assert.equal(t('repos.count', { count: 1 }), '1 repository');
  assert.equal(t('repos.count', { count: 1200 }), '1,200 repositories');
  setLanguage('zh');
  assert.equal(t('repos.count', { count: 1 }), '1 个代码库');
  setLanguage('en');
});

test('a value is put in as it is, whatever it looks like', () => {
  assert.equal(t('delete.title', { name: '{name} <b>$&' }), 'Delete {name} <b>$& from the list?');
});

test('a place may hold something that is no text', () => {
  const key = { tag: 'kbd' };
  assert.ok(tParts('repos.keys', { up: key, down: key, enter: key, delete: key }).includes(key));
});

test('a word that is missing shows its key instead of nothing', () => {
  assert.equal(t('no.such.word'), 'no.such.word');
});

test('a third language is one file: what it does not say is English', () => {
  const texts = {
    'act.save': 'Konservi',
    'repos.count': { one: '{count} deponejo', other: '{count} deponejoj' },
  };
  addLanguage({ code: 'eo', locale: 'eo', name: 'Esperanto', texts });
  assert.deepEqual(
    listLanguages().map(({ name }) => name),
    ['English', '中文', 'Esperanto'],
  );
  addTexts({ en: { 'extra.word': 'Extra' }, zh: { 'extra.word': '额外' } });
  setLanguage('eo');
  assert.equal(locale(), 'eo');
  assert.equal(t('act.save'), 'Konservi');
  assert.equal(t('repos.count', { count: 2 }), '2 deponejoj');
  assert.equal(t('act.cancel'), 'Cancel');
  assert.equal(t('extra.word'), 'Extra');
  setLanguage('en');
});
