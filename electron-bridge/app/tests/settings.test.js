/** Settings <-> form, and the kernel's complaints put where they belong. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';

import { setLanguage } from '../pages/common/i18n.js';
import {
  formOf,
  freeName,
  isChanged,
  LISTS,
  newChatModel,
  newEmbeddingConfig,
  selectReranker,
  settingsOf,
  findInvalidFields,
} from '../pages/settings/form_model.js';
import { setAt, valueAt } from '../pages/settings/field_paths.js';
import { explainProblem, parseProblems } from '../pages/settings/problems.js';

const EXAMPLE = new URL('../../../userData.example/settings.json', import.meta.url);

/** The example that explains every key, without its comments, and with a row in every list. */
function settings() {
  const text = readFileSync(EXAMPLE, 'utf8').replace(/(?<![:"])\/\/.*$/gm, '');
  const file = JSON.parse(text);
  setAt(file, LISTS.embedding, [
    { name: 'static', modelName: 'codekernel-static-v3', inputLength: 950, selected: true },
  ]);
  setAt(file, LISTS.rerank, [{ modelName: 'bge', selected: false }]);
  setAt(file, LISTS.models, [{ name: 'bge', path: '/models/bge', type: 'rerank', fileSize: 0.5 }]);
  Object.assign(file.conversationSettings.generationModel[0], {
    inputPrice: 0.28,
    contextTokens: 65536,
  });
  return file;
}

afterEach(() => setLanguage('en'));

test('a form that nobody touched is the file it came from', () => {
  const file = settings();
  const back = settingsOf(formOf(file));
  back.conversationSettings.generationModel.forEach((row) => {
    if (row.outputPrice === null) delete row.outputPrice;
  });
  assert.deepEqual(back, file);
  assert.equal(isChanged(formOf(file), file), false);
});

test('keys that nobody here knows stay in the file', () => {
  const file = { ...settings(), ui: { zoom: 2 } };
  file.performance.cudaAvailable = true;
  const back = settingsOf(formOf(file));
  assert.deepEqual(/** @type {any} */ (back).ui, { zoom: 2 });
  assert.equal(/** @type {any} */ (back.performance).cudaAvailable, true);
});

test('numbers are texts in the form and numbers in the file', () => {
  const form = formOf(settings());
  assert.equal(form.searchSettings.searchLimit, '10');
  form.searchSettings.searchLimit = ' 25 ';
  form.conversationSettings.generationModel[0].inputPrice = '';
  form.conversationSettings.generationModel[0].outputPrice = '0.5';
  const file = settingsOf(form);
  assert.equal(file.searchSettings.searchLimit, 25);
  assert.equal(file.conversationSettings.generationModel[0].inputPrice, null);
  assert.equal(file.conversationSettings.generationModel[0].outputPrice, 0.5);
});

test('a key that was typed is a change, and never part of the file', () => {
  const saved = settings();
  const form = formOf(saved);
  form.conversationSettings.generationModel[0]._newKey = 'sk-secret';
  assert.equal(isChanged(form, saved), true);
  assert.ok(!JSON.stringify(settingsOf(form)).includes('sk-secret'));
});

test('a change and its way back are seen', () => {
  const saved = settings();
  const form = formOf(saved);
  form.performance.useCuda = true;
  assert.equal(isChanged(form, saved), true);
  form.performance.useCuda = false;
  assert.equal(isChanged(form, saved), false);
  form.conversationSettings.generationModel.push(newChatModel());
  assert.equal(isChanged(form, saved), true);
});

test('what is no number is told before the kernel is asked', () => {
  const form = formOf(settings());
  form.searchSettings.searchLimit = '';
  form.performance.maxThreads = 'all';
  form.conversationSettings.maxRounds = '2.5';
  form.conversationSettings.generationModel[0].inputPrice = '2.5';
  form.conversationSettings.generationModel[0].contextTokens = '8k';
  form.conversationSettings.generationModel.push(newChatModel());
  assert.deepEqual(Object.fromEntries(findInvalidFields(form)), {
    'searchSettings.searchLimit': 'missing',
    'performance.maxThreads': 'number',
    'conversationSettings.maxRounds': 'whole',
    'conversationSettings.generationModel[0].contextTokens': 'number',
    'conversationSettings.generationModel[1].name': 'missing',
  });
});

test('new rows have names of their own', () => {
  assert.equal(freeName('a', []), 'a');
  assert.equal(freeName('a', ['a', 'a-2']), 'a-3');
  const row = newEmbeddingConfig('static', ['static']);
  assert.equal(row.name, 'static-2');
  assert.equal(row.modelName, 'static');
});

test('at most one reranker is selected', () => {
  const configs = [
    { modelName: 'a', selected: true },
    { modelName: 'b', selected: false },
  ];
  const chosen = (/** @type {any[]} */ rows) =>
    rows.filter(({ selected }) => selected).map(({ modelName }) => modelName);
  assert.deepEqual(chosen(selectReranker(configs, 'b')), ['b']);
  assert.deepEqual(chosen(selectReranker(configs, 'c')), ['c']);
  assert.deepEqual(chosen(selectReranker(configs, '')), []);
  assert.equal(selectReranker(configs, '').length, 2, 'what is not selected stays listed');
});

test('a place is named as the kernel names it', () => {
  const root = { a: { b: [{ c: 1 }, { c: 2 }] } };
  assert.equal(valueAt(root, 'a.b[1].c'), 2);
  assert.equal(valueAt(root, 'a.x[1].c'), undefined);
  setAt(root, 'a.b[0].c', 5);
  assert.equal(root.a.b[0].c, 5);
});

test('the list of what is wrong is taken apart at its keys', () => {
  const message =
    'Failed in checking settings: searchSettings.searchLimit must be at least 1, got 0; ' +
    'conversationSettings.generationModel[0].name must be unique, but ' +
    'conversationSettings.generationModel[1].name is "a; b" too; ' +
    'localModelManagement.models[0].path: there is no folder /x; y';
  assert.deepEqual(parseProblems(message), [
    { path: 'searchSettings.searchLimit', reason: 'must be at least 1, got 0' },
    {
      path: 'conversationSettings.generationModel[0].name',
      reason: 'must be unique, but conversationSettings.generationModel[1].name is "a; b" too',
    },
    { path: 'localModelManagement.models[0].path', reason: 'there is no folder /x; y' },
  ]);
});

test('a complaint about the file as a whole has no place', () => {
  const message = 'Failed in checking settings: settings-modified.json: expected a JSON object';
  assert.deepEqual(parseProblems(message), [{ path: '', reason: 'expected a JSON object' }]);
  const shape =
    'Failed in checking settings: settings-modified.json: performance.useCuda is missing';
  assert.deepEqual(parseProblems(shape), [{ path: 'performance.useCuda', reason: 'is missing' }]);
});

test('reasons are said in the language of the page, others as they are', () => {
  assert.equal(explainProblem('must be at most 10000, got 99999'), 'This must be at most 10000.');
  setLanguage('zh');
  assert.equal(explainProblem('must not be empty'), '不能为空。');
  assert.equal(explainProblem('there is no folder /a b'), '没有文件夹 /a b。');
  assert.equal(explainProblem('must be round'), 'must be round');
});
