/** Sources, cost, memory, branches and the export of a conversation. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { setLanguage } from '../pages/common/i18n.js';
import { addTexts } from '../pages/common/i18n.js';
import { exportMarkdown, exportName } from '../pages/repository/conversation/export_markdown.js';
import { formatMoney, ModelFacts } from '../pages/repository/conversation/models.js';
import { sourcesOf } from '../pages/repository/conversation/sources.js';
import { countKept, newTurn } from '../pages/repository/conversation/turns.js';
import { reposOf } from '../pages/repository/usage/figures.js';
import { en } from '../pages/repository/texts/en.js';
import { zh } from '../pages/repository/texts/zh.js';

addTexts({ en, zh });
setLanguage('en');

const EXCERPTS = [
  { filePath: 'a.py', beginLine: 0, endLine: 3, content: 'one\ntwo\nthree' },
  { filePath: 'b.py', beginLine: 4, endLine: 6, content: 'five\nsix' },
];

/** @returns {any} */
function turnWith(/** @type {object} */ changes) {
  const turn = newTurn({ query: 'What?', modelName: 'm-1', time: 0 });
  return Object.assign(turn, { state: 'done', ...changes });
}

const ANSWERED = turnWith({
  answer: 'It is `a.py:2-3`.',
  rounds: [{ annotation: '', search: [], result: EXCERPTS, isOpen: false }],
  citations: [{ filePath: 'a.py', begin: 2, end: 3, state: 'verified' }],
});

test('what is cited comes first, with its own lines; what was only looked up comes behind', () => {
  assert.deepEqual(sourcesOf(ANSWERED), [
    { path: 'a.py', begin: 2, end: 3, state: 'verified', preview: 'two\nthree' },
    { path: 'b.py', begin: 5, end: 6, state: 'shown', preview: 'five\nsix' },
  ]);
});

test('an answer costs what the settings say, by either name of the model', () => {
  const facts = new ModelFacts({
    modelList: [{ name: 'mine', modelName: 'm-1', inputPrice: 2 }, { name: 'free' }],
  });
  const usage = { input_token: 500_000, output_token: 10, exact: true };
  assert.equal(facts.costOf('m-1', usage), 1);
  assert.equal(facts.costOf('mine', usage), 1);
  assert.equal(facts.costOf('free', usage), null);
  assert.equal(facts.costOf('m-1', null), null);
});

test('money has its currency', () => {
  assert.equal(formatMoney(0.0042, 'USD'), '$0.0042');
  assert.equal(formatMoney(12, '¥'), '¥12');
  assert.equal(formatMoney(1.5, ''), '1.5');
});

test('the memory says what is used of it', () => {
  const turns = [{ query: '1234', answer: '123456' }];
  assert.deepEqual(new ModelFacts({ historyLength: 100 }).memoryOf(turns), {
    used: 10,
    most: 100,
    isCut: false,
  });
  assert.equal(new ModelFacts({ historyLength: 5 }).memoryOf(turns)?.isCut, true);
  assert.equal(new ModelFacts({ historyLength: 0 }).memoryOf(turns), null);
});

test('a turn that was refused at once is not in the history', () => {
  const refused = turnWith({ state: 'failed', failure: { code: 'NETWORK_ERROR' } });
  const failed = turnWith({ state: 'failed', failure: { done: {} } });
  assert.equal(countKept([ANSWERED, refused, failed]), 2);
});

test('a conversation is exported with its sources', () => {
  const text = exportMarkdown('What?\nmore', 'demo', [ANSWERED]);
  assert.match(text, /^# What\?\n\n\*demo\*\n\n## Question\n\n> What\?\n/);
  assert.match(text, /- `a\.py:2-3` \(verified\)\n$/);
  assert.ok(!text.includes('b.py'));
  assert.equal(exportName('Where: is/it? 问'), 'Where-is-it-问.md');
  assert.equal(exportName('///'), 'conversation.md');
});

test('repositories are listed by what they have used', () => {
  const entry = (/** @type {any} */ values) => ({ modelName: 'm', output_token: 0, ...values });
  const found = reposOf([
    entry({ repoName: 'one', input_token: 5 }),
    entry({ repoName: 'two', input_token: 7, cost: 1 }),
    entry({ repoName: 'two', input_token: 1, cost: 2 }),
  ]);
  assert.deepEqual(found, [
    { repoName: 'two', tokens: 8, cost: 3 },
    { repoName: 'one', tokens: 5, cost: null },
  ]);
});
