/** The pages as files: what they load is there, and nothing in them breaks the security policy. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PAGES = fileURLToPath(new URL('../pages/', import.meta.url));
const FROM = /(?:\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'\n]+)\1/g;
const all = readdirSync(PAGES, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
const isOurs = (/** @type {string} */ file) => !file.startsWith(path.join(PAGES, 'vendor'));

/** @param {string} file */
function imports(file) {
  const text = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  return [...text.matchAll(FROM)].map(([, , target]) => target);
}

test('every import is relative and leads to a file', () => {
  const scripts = all.filter((file) => file.endsWith('.js') && isOurs(file));
  const lost = scripts.flatMap((file) =>
    imports(file)
      .filter((target) => !target.startsWith('.') || !existsSync(path.resolve(file, '..', target)))
      .map((target) => `${path.relative(PAGES, file)} imports ${target}`),
  );
  assert.ok(scripts.length > 30);
  assert.deepEqual(lost, []);
});

test('lit-html is imported by one module, and never as unsafe HTML', () => {
  const scripts = all.filter((file) => file.endsWith('.js') && isOurs(file));
  const doors = scripts.filter((file) => imports(file).some((name) => name.includes('/lit-html/')));
  assert.deepEqual(
    doors.map((file) => path.relative(PAGES, file)),
    [path.join('common', 'lit.js')],
  );
  const risky = scripts.filter((file) =>
    /\b(?:innerHTML|outerHTML|insertAdjacentHTML|unsafeHTML|document\.write|eval)\b/.test(
      readFileSync(file, 'utf8'),
    ),
  );
  assert.deepEqual(risky, []);
});

test('pages have no script or style of their own inside', () => {
  const pages = all.filter((file) => file.endsWith('.html'));
  for (const file of pages) {
    const text = readFileSync(file, 'utf8');
    assert.doesNotMatch(text, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/, file);
    for (const [, target] of text.matchAll(/\s(?:src|href)="([^"]+)"/g)) {
      assert.doesNotMatch(target, /:/, `${target} is not relative`);
    }
  }
  assert.ok(pages.length >= 2);
});

test('every address of the app is the same document', () => {
  const [first, ...others] = ['repos', 'repository', 'settings'].map((name) =>
    readFileSync(path.join(PAGES, `${name}.html`), 'utf8'),
  );
  for (const other of others) assert.equal(other, first);
});

test('templates have no style attributes, which the policy forbids', () => {
  const scripts = all.filter((file) => file.endsWith('.js') && isOurs(file));
  assert.deepEqual(
    scripts.filter((file) => /<\w[^>]*\sstyle=/.test(readFileSync(file, 'utf8'))),
    [],
  );
});
