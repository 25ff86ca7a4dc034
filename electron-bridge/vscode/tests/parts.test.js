/** The parts of the extension that need neither a window nor a kernel. */

import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { temporaryFolder } from '../../tests/support/fixtures.js';
import { parseAnswer } from '../media/answer_text.js';
import { interleave } from '../src/kernel_link.js';
import { locateCodekernel } from '../src/locate_codekernel.js';
import { describeStatus } from '../src/status_text.js';

const IDLE = {
  state: 'idle',
  files: 1200,
  chunks: 9000,
  filesWaiting: 0,
  refused: { binary: 2, ignored: 1 },
  configs: [],
  watching: 'watching',
  trouble: '',
  paused: false,
};

async function program(folder, ...names) {
  const file = path.join(folder, ...names);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, '#!/bin/sh\n');
  await chmod(file, 0o755);
  return file;
}

test('the program of the settings is taken before the one that is installed', async (t) => {
  const home = await temporaryFolder(t);
  const machine = { environ: {}, platform: 'linux', home };
  assert.equal(locateCodekernel('', machine), null);
  const installed = await program(home, '.local', 'bin', 'codekernel');
  assert.deepEqual(locateCodekernel('', machine), [installed]);
  const onPath = await program(home, 'on path', 'codekernel');
  const environ = { PATH: `relative:${path.dirname(onPath)}` };
  assert.deepEqual(locateCodekernel('', { ...machine, environ }), [onPath]);
  const chosen = await program(home, 'chosen', 'codekernel');
  assert.deepEqual(locateCodekernel(chosen, { ...machine, environ }), [chosen]);
});

test('a Python of the settings is asked for the module', async (t) => {
  const python = await program(await temporaryFolder(t), 'python3.12');
  assert.deepEqual(locateCodekernel(python), [python, '-m', 'codekernel']);
});

test('a wrong path of the settings is not replaced by another program', async (t) => {
  const home = await temporaryFolder(t);
  await program(home, '.local', 'bin', 'codekernel');
  const machine = { environ: {}, platform: 'linux', home };
  assert.equal(locateCodekernel('/nowhere/codekernel', machine), null);
  assert.equal(locateCodekernel(home, machine), null, 'a folder is no program');
});

test('each folder of a window has its best places first', () => {
  assert.deepEqual(interleave([['a1', 'a2', 'a3'], ['b1'], []]), ['a1', 'b1', 'a2', 'a3']);
  assert.deepEqual(interleave([]), []);
});

test('an index at rest is counted in words', () => {
  const { text, tooltip, isBusy, isWarning } = describeStatus(IDLE);
  assert.equal(text, '$(search) codekernel');
  assert.equal(tooltip, '1,200 files, 9,000 chunks indexed\n3 files skipped');
  assert.deepEqual([isBusy, isWarning], [false, false]);
});

test('a busy index shows how far it is', () => {
  const config = { name: 'static', ready: true, trouble: '', chunksPerSecond: 10 };
  const configs = [{ ...config, chunks: 200, waiting: 50, secondsLeft: 4.2 }];
  const embedding = describeStatus({ ...IDLE, state: 'embedding', configs });
  assert.equal(embedding.text, '$(sync~spin) codekernel 75 %');
  assert.match(embedding.tooltip, /static: 50 chunks without vectors, about 5 s left/);
  assert.ok(embedding.isBusy);
  const indexing = describeStatus({ ...IDLE, state: 'indexing', filesWaiting: 7 });
  assert.equal(indexing.text, '$(sync~spin) codekernel 1,200 files');
  assert.equal(describeStatus({ ...IDLE, state: 'paused' }).text, '$(debug-pause) codekernel');
});

test('trouble is shown with its reason', () => {
  const { text, tooltip, isWarning } = describeStatus({ ...IDLE, trouble: 'The disk is full.' });
  assert.deepEqual([text, isWarning], ['$(warning) codekernel', true]);
  assert.match(tooltip, /The disk is full\./);
});

test('places in an answer can be opened, code and headings are set apart', () => {
  const known = new Set(['src/app.py']);
  const text =
    '## Where\n\nIn `src/app.py:3-4`, **not** app.py:9.\n\n```py\nx = `1`\n\ny\n```\nEnd';
  const blocks = parseAnswer(text, known);
  assert.deepEqual(
    blocks.map(({ kind }) => kind),
    ['heading', 'paragraph', 'code', 'paragraph'],
  );
  const places = blocks[1].pieces.filter(({ kind }) => kind === 'place');
  assert.deepEqual(
    places.map(({ place }) => [place.path, place.begin, place.end]),
    [
      ['src/app.py', 3, 4],
      ['src/app.py', 9, 9],
    ],
  );
  assert.ok(blocks[1].pieces.some(({ kind, text: shown }) => kind === 'strong' && shown === 'not'));
  assert.equal(blocks[2].text, 'x = `1`\n\ny');
});

test('an answer that is still being written is shown as far as it is', () => {
  const [block] = parseAnswer('```py\nx = 1', new Set());
  assert.deepEqual(block, { kind: 'code', text: 'x = 1' });
  const [open] = parseAnswer('an `open', new Set());
  assert.deepEqual(open.pieces, [{ kind: 'text', text: 'an `open' }]);
});
