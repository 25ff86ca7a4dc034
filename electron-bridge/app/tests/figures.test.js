/** Progress, activity, usage, the life of a session, tabs, and words of the repository page. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { layOut } from '../pages/repository/index/treemap.js';
import { fileURLToPath } from 'node:url';

import { addTexts } from '../pages/common/i18n.js';
import { findDifferences } from '../pages/common/text_format.js';
import { en as shared } from '../pages/common/texts/en.js';
import { Activity } from '../pages/repository/index/activity.js';
import { advanced, secondsLeft } from '../pages/repository/index/progress.js';
import { sentence, shortLine } from '../pages/repository/index/state_text.js';
import { reduce, INITIAL } from '../pages/repository/session/session_state.js';
import { tabAfter, tabOf } from '../pages/repository/session/tab_keys.js';
import { axisOf, daysOf, MAX_DAYS, totalsOf } from '../pages/repository/usage/figures.js';
import { en } from '../pages/repository/texts/en.js';
import { zh } from '../pages/repository/texts/zh.js';

const config = { name: 'static', ready: true, chunksPerSecond: 100, secondsLeft: 3, trouble: '' };

/** @param {object} changes */
const status = (changes) => ({
  state: 'embedding',
  files: 10,
  chunks: 100,
  filesWaiting: 0,
  refused: {},
  configs: [{ ...config, chunks: 100, waiting: 50 }],
  watching: 'watching',
  trouble: '',
  notice: '',
  cause: '',
  ...changes,
});

test('a trouble whose cause is known is named, any other is called an error', () => {
  addTexts({ en, zh });
  const session = { isPrepared: true };
  const lineOf = (/** @type {object} */ changes) =>
    shortLine(/** @type {any} */ ({ session, progress: null, status: status(changes) }));
  assert.equal(lineOf({ state: 'trouble', trouble: 'x', cause: 'full-disk' }), 'The disk is full');
  assert.match(lineOf({ state: 'recovering', trouble: 'x', cause: 'damage' }), /is rebuilt/);
  assert.equal(lineOf({ state: 'trouble', trouble: 'x' }), 'The index has an error');
  const rebuilt = status({ state: 'recovering', trouble: 'x', cause: 'damage' });
  assert.match(sentence(/** @type {any} */ ({ status: rebuilt, progress: null })), /10 so far/);
});

test('a bar never runs backwards while files are still being found', () => {
  const first = advanced(null, status({ state: 'indexing', files: 8, filesWaiting: 2 }));
  const more = advanced(first, status({ state: 'indexing', files: 9, filesWaiting: 91, configs: [{ ...config, chunks: 1000, waiting: 900 }] })); // prettier-ignore
  assert.equal(first.files, 0.8);
  assert.equal(more.files, 0.8);
  assert.equal(more.configs.static, 0.5);
  assert.ok(more.overall >= first.overall);
});

test('the next run begins at its own beginning', () => {
  const idle = advanced(null, status({ state: 'idle', configs: [{ ...config, chunks: 100, waiting: 0 }] })); // prettier-ignore
  assert.equal(idle.overall, 1);
  const next = advanced(idle, status({ state: 'indexing', filesWaiting: 10 }));
  assert.equal(next.files, 0.5);
  assert.equal(advanced(next, status({ filesWaiting: 10 })).files, 1);
});

test('an empty repository that is idle is complete, and one that starts is not', () => {
  const nothing = { files: 0, chunks: 0, configs: [] };
  assert.equal(advanced(null, status({ ...nothing, state: 'idle' })).overall, 1);
  assert.equal(advanced(null, status({ ...nothing, state: 'starting' })).overall, 0);
});

test('the slowest config says how long it takes, if any knows', () => {
  const configs = [
    { ...config, chunks: 1, waiting: 1, secondsLeft: 3 },
    { ...config, chunks: 1, waiting: 1, secondsLeft: 90 },
    { ...config, chunks: 1, waiting: 1, secondsLeft: null },
  ];
  assert.equal(secondsLeft(status({ configs })), 90);
  assert.equal(secondsLeft(status({ configs: [] })), null);
});

test('a file is under way until it is done, and its progress only grows', () => {
  const activity = new Activity();
  activity.addStatuses([
    { filePath: 'a.py', status: 'embedding', progress: 0.5 },
    { filePath: 'b.py', status: 'embedding', progress: 0 },
    { filePath: 'a.py', status: 'embedding', progress: 0.2 },
  ]);
  assert.deepEqual(activity.underWay(10), [
    { filePath: 'a.py', progress: 0.5 },
    { filePath: 'b.py', progress: 0 },
  ]);
  activity.addStatuses([{ filePath: 'a.py', status: 'done', progress: 1 }]);
  assert.deepEqual(activity.underWay(10).map(({ filePath }) => filePath), ['b.py']); // prettier-ignore
  assert.deepEqual(activity.finished(10), ['a.py']);
});

test('of many finished files the newest are kept', () => {
  const activity = new Activity();
  const done = (/** @type {number} */ n) => ({ filePath: `${n}`, status: 'done', progress: 1 });
  activity.addStatuses(Array.from({ length: 1000 }, (_, n) => done(n)));
  assert.deepEqual(activity.finished(2), ['999', '998']);
  assert.equal(activity.finished(9999).length, 100);
  assert.equal(activity.finishedCount, 1000);
});

const USAGE = [
  {
    modelName: 'deepseek',
    model_name: 'deepseek',
    input_token: 300,
    output_token: 100,
    total_token: 400,
    cost: 0.5,
    days: [
      { day: '2026-02-27', input_token: 100, output_token: 50, cost: 0.2 },
      { day: '2026-03-01', input_token: 200, output_token: 50, cost: 0.3 },
    ],
  },
  {
    modelName: 'local',
    model_name: 'local',
    input_token: 10,
    output_token: 10,
    total_token: 20,
    days: [{ day: '2026-03-01', input_token: 10, output_token: 10 }],
  },
];

test('totals add up, and say whether every model has its price', () => {
  assert.deepEqual(totalsOf(USAGE), { input: 310, output: 110, total: 420, cost: 0.5, isCostWhole: false }); // prettier-ignore
  assert.equal(totalsOf([USAGE[1]]).cost, null);
});

test('days without a figure are days, too', () => {
  const days = daysOf(USAGE, 'tokens');
  assert.deepEqual(days.map(({ day, total }) => [day, total]), [['2026-02-27', 150], ['2026-02-28', 0], ['2026-03-01', 270]]); // prettier-ignore
  assert.deepEqual(days[2].pieces, [
    { modelName: 'deepseek', value: 250 },
    { modelName: 'local', value: 20 },
  ]);
  assert.deepEqual(daysOf(USAGE, 'cost')[2].total, 0.3);
  assert.deepEqual(daysOf([], 'tokens'), []);
});

test('a chart has at most a month of days, the last ones', () => {
  const days = [
    { day: '2024-01-01', input_token: 1, output_token: 1 },
    { day: '2026-03-01', input_token: 1, output_token: 1 },
  ];
  const shown = daysOf([{ ...USAGE[1], days }], 'tokens');
  assert.equal(shown.length, MAX_DAYS);
  assert.equal(shown.at(-1)?.day, '2026-03-01');
});

test('an axis has round figures that reach the highest bar', () => {
  assert.deepEqual(axisOf(100), [0, 25, 50, 75, 100]);
  assert.deepEqual(axisOf(7), [0, 2, 4, 6, 8]);
  assert.deepEqual(axisOf(0.3), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(axisOf(0), [0, 1]);
});

test('a session that crashes is prepared again, whatever the order of news', () => {
  let now = reduce(INITIAL, { type: 'prepared' });
  now = reduce(now, { type: 'opened', state: 'opening', path: '/r' });
  assert.deepEqual([now.state, now.path], ['prepared', '/r']);
  now = reduce(now, { type: 'crashed', failure: 'x' });
  assert.deepEqual([now.state, now.failure], ['crashed', 'x']);
  now = reduce(now, { type: 'prepared' });
  assert.deepEqual([now.state, now.failure], ['prepared', null]);
  now = reduce(reduce(now, { type: 'lost', failure: 'y' }), { type: 'requested' });
  assert.equal(now.state, 'opening');
  assert.equal(reduce(now, { type: 'opened', state: 'prepared', path: '' }).state, 'prepared');
});

test('arrow keys go round the tabs, and an address names one', () => {
  assert.equal(tabAfter('search', 'ArrowLeft'), 'usage');
  assert.equal(tabAfter('usage', 'ArrowRight'), 'search');
  assert.equal(tabAfter('index', 'Home'), 'search');
  assert.equal(tabAfter('index', 'a'), null);
  assert.equal(tabOf('talk'), 'talk');
  assert.equal(tabOf('main'), null);
});

test('English and Chinese have the same words with the same places', () => {
  assert.deepEqual(findDifferences(en, zh), []);
});

test('every word that the page asks for by name is there, and none is left over', () => {
  const folder = fileURLToPath(new URL('../pages/repository', import.meta.url));
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !name.startsWith('words'))
    .map((name) => readFileSync(`${folder}/${name}`, 'utf8'));
  const text = sources.join('\n');
  const asked = new Set(
    [...text.matchAll(/\b(?:t|tParts)\(\s*'([\w.-]+)'/g)].map(([, key]) => key),
  );
  const missing = [...asked].filter((key) => !(key in en) && !(key in shared));
  assert.deepEqual(missing, []);
  const stems = [...text.matchAll(/`([\w.-]+\.)\$\{/g)].map(([, stem]) => stem);
  const quoted = new Set([...text.matchAll(/'([\w.-]+)'/g)].map(([, key]) => key));
  const unused = Object.keys(en).filter(
    (key) => !quoted.has(key) && !stems.some((stem) => key.startsWith(stem)),
  );
  assert.deepEqual(unused, []);
});

test('the tiles of a map fill it, each as large as its value, without overlap', () => {
  const values = [60, 25, 10, 4, 1];
  const areas = layOut(values, { left: 0, top: 0, width: 100, height: 50 });
  const sizes = areas.map(({ width, height }) => width * height);
  values.forEach((value, index) => assert.ok(Math.abs(sizes[index] - value * 50) < 1e-6));
  for (const { left, top, width, height } of areas) {
    assert.ok(left >= 0 && top >= 0 && left + width <= 100 + 1e-6 && top + height <= 50 + 1e-6);
  }
  const isApart = (/** @type {any} */ one, /** @type {any} */ other) =>
    one.left + one.width <= other.left + 1e-6 ||
    other.left + other.width <= one.left + 1e-6 ||
    one.top + one.height <= other.top + 1e-6 ||
    other.top + other.height <= one.top + 1e-6;
  areas.forEach((one, index) => areas.slice(index + 1).forEach((other) => assert.ok(isApart(one, other)))); // prettier-ignore
  assert.deepEqual(layOut([], { left: 0, top: 0, width: 1, height: 1 }), []);
});
