/** Every failure becomes a sentence, in both languages, and never loses what the kernel said. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';

import { Reason } from '../../src/errors.js';
import { explain, oneLine } from '../pages/common/failures.js';
import { hasText, setLanguage } from '../pages/common/i18n.js';

const TYPES = readFileSync(new URL('../../types/protocol.d.ts', import.meta.url), 'utf8');
const failure = (/** @type {string} */ code, message = 'Because of this.') => ({
  name: 'KernelError',
  code,
  message,
});

/** The codes of the wire, from the generated types. */
function kernelCodes() {
  const [, list] = /export type KernelCode =([^;]+);/.exec(TYPES) ?? [];
  return [...(list ?? '').matchAll(/'(\w+)'/g)].map(([, code]) => code);
}

afterEach(() => setLanguage('en'));

test('every code of the kernel and of the bridge has its sentence', () => {
  const codes = [...kernelCodes(), ...Object.values(Reason)];
  assert.ok(codes.length > 20);
  assert.deepEqual(
    codes.filter((code) => !hasText(`failure.${code}`)),
    [],
  );
});

test('the kernel says what is wrong, the page what to do', () => {
  const { sentence, advice, detail } = explain(failure('INVALID_PATH', '/x is no folder'));
  assert.equal(sentence, 'That is not a folder that can be used.');
  assert.equal(advice, 'Give the whole path of a folder that exists.');
  assert.equal(detail, '/x is no folder');
  assert.equal(oneLine(failure('TESST_FAILED', '401.')), 'The model did not answer. 401.');
});

test('in Chinese the sentence is Chinese and the detail stays', () => {
  setLanguage('zh');
  const { sentence, detail } = explain(failure('NETWORK_ERROR', 'connection refused'));
  assert.equal(sentence, '对话模型出错了。');
  assert.equal(detail, 'connection refused');
});

test('a code from the future is explained by the words that came with it', () => {
  const { code, sentence, detail } = explain(failure('SOMETHING_NEW', 'The moon is full.'));
  assert.equal(code, 'SOMETHING_NEW');
  assert.equal(sentence, 'That did not work.');
  assert.equal(detail, 'The moon is full.');
});

test('an error of the page itself is not blamed on the kernel', () => {
  assert.equal(explain(new TypeError('x is undefined')).code, '');
  assert.equal(explain(new TypeError('x is undefined')).detail, 'x is undefined');
  assert.equal(explain(undefined).detail, 'undefined');
  assert.equal(explain(Object.assign(new Error('no file'), { code: 'ENOENT' })).code, '');
});
