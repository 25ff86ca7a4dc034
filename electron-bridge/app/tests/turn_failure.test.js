/** What fails an answer is said in one sentence with one action; the phrases are the kernel's. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { hasText } from '../pages/common/i18n.js';
import { addTexts } from '../pages/common/i18n.js';
import { FIRST_SEARCH } from '../pages/repository/conversation/round_name.js';
import { explainTurn } from '../pages/repository/conversation/turn_failure.js';
import { en } from '../pages/repository/texts/en.js';
import { zh } from '../pages/repository/texts/zh.js';

addTexts({ en, zh });

const KERNEL = fileURLToPath(new URL('../../../kernel/codekernel/', import.meta.url));

/** @type {[string, string, string][]} a phrase of the kernel, what it means, what helps */
const CASES = [
  ['refused the key', 'key', 'settings'],
  ['There is no API key', 'key', 'settings'],
  ['has had too many requests', 'quota', 'again'],
  ['refused the connection', 'down', 'again'],
  ['could not be found (DNS)', 'offline', 'again'],
  ['Model not found', 'model', 'settings'],
  ['does not know this url or model', 'model', 'settings'],
  ['did not answer in time', 'slow', 'again'],
  ['in the middle of its answer', 'slow', 'again'],
];

test('what the kernel says is understood, live and in the history', () => {
  for (const [phrase, kind, action] of CASES) {
    const message = `127.0.0.1:1 ${phrase}: check it.`;
    const live = explainTurn({ failure: { code: 'NETWORK_ERROR', message }, error: '' });
    const kept = explainTurn({ failure: null, error: message });
    for (const found of [live, kept]) assert.deepEqual(found, { kind, action, detail: message });
    assert.ok(hasText(`turn.failed.${kind}`));
  }
});

test('the kernel still says so', () => {
  const places = ['llm/', 'search/', 'conversation/', 'errors.py'];
  const files = places.flatMap((place) =>
    place.endsWith('.py')
      ? [place]
      : readdirSync(KERNEL + place)
          .filter((name) => name.endsWith('.py'))
          .map((name) => place + name),
  );
  const text = files.map((name) => readFileSync(KERNEL + name, 'utf8')).join('\n');
  for (const [phrase] of CASES) assert.ok(text.includes(phrase), phrase);
  assert.ok(text.includes(`"${FIRST_SEARCH}"`));
});

test('a folder that is gone and a kernel that was restarted are known by their codes', () => {
  const explained = (/** @type {string} */ code) =>
    explainTurn({ failure: { code, message: '' }, error: '' });
  assert.equal(explained('REPO_NOT_EXIST').action, 'repos');
  assert.equal(explained('KERNEL_CRASHED').kind, 'kernel');
  assert.equal(explained('SESSION_NOT_FOUND').kind, 'kernel');
  assert.equal(explained('UNKNOW_ERROR').kind, 'other');
});
