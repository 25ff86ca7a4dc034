import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { kernelEnvironment, locateKernel } from '../src/index.js';
import { RestartPolicy } from '../src/restarts.js';
import { temporaryFolder } from './support/fixtures.js';

async function program(...parts) {
  const file = path.join(...parts);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, '');
  await chmod(file, 0o755);
  return file;
}

test('the bundled kernel is taken before that of the project', async (t) => {
  const folder = await temporaryFolder(t);
  const where = { resourcesPath: folder, project: folder, environ: {}, platform: 'linux' };
  const python = await program(folder, '.venv', 'bin', 'python');
  assert.deepEqual(locateKernel(where), {
    command: python,
    args: ['-m', 'codekernel', 'serve'],
    cwd: folder,
    how: 'project',
  });
  const bundled = await program(folder, 'kernel', 'codekernel');
  const found = locateKernel(where);
  assert.deepEqual([found.command, found.args, found.how], [bundled, ['serve'], 'bundled']);
});

test('CODEKERNEL_PYTHON is taken before both, and must be right', async (t) => {
  const folder = await temporaryFolder(t);
  await program(folder, 'kernel', 'codekernel');
  const python = await program(folder, 'python');
  const where = { resourcesPath: folder, project: folder };
  const found = locateKernel({ ...where, environ: { CODEKERNEL_PYTHON: python } });
  assert.deepEqual([found.command, found.how], [python, 'CODEKERNEL_PYTHON']);
  const missing = path.join(folder, 'nowhere');
  assert.throws(() => locateKernel({ ...where, environ: { CODEKERNEL_PYTHON: missing } }), {
    code: 'KERNEL_NOT_FOUND',
  });
  assert.equal(
    locateKernel({ ...where, environ: { CODEKERNEL_PYTHON: 'python3' } }).command,
    'python3',
  );
});

test('on Windows the names are those of Windows', async (t) => {
  const folder = await temporaryFolder(t);
  const bundled = await program(folder, 'kernel', 'python', 'python.exe');
  const where = { resourcesPath: folder, project: folder, environ: {}, platform: 'win32' };
  const { command, args } = locateKernel(where);
  assert.equal(command, bundled);
  assert.deepEqual(args, ['-I', '-m', 'codekernel', 'serve']);
});

test('where nothing is found the error says where one looked and what to do', async (t) => {
  const folder = await temporaryFolder(t);
  assert.throws(() => locateKernel({ resourcesPath: folder, project: folder, environ: {} }), {
    code: 'KERNEL_NOT_FOUND',
    message: /codekernel.* and .*\.venv.*CODEKERNEL_PYTHON/,
  });
});

test('the kernel is told where userData is, and not what is meant for Electron', () => {
  const environ = { PATH: '/bin', ELECTRON_RUN_AS_NODE: '1', NODE_OPTIONS: '-x', PYTHONHOME: '/p' };
  assert.deepEqual(kernelEnvironment('/data', environ), {
    PATH: '/bin',
    ORT_DISABLE_TELEMETRY: '1',
    CODEKERNEL_USER_DATA: '/data',
    POCKETRAG_USERDATA_PATH: '/data',
  });
});

test('pauses between restarts grow, and a calm run forgives', () => {
  let now = 0;
  const policy = new RestartPolicy({ delaysMs: [1, 2], stableAfterMs: 100, now: () => now });
  assert.deepEqual([policy.nextDelay(), policy.nextDelay()], [1, 2]);
  policy.markRunning();
  now += 99;
  assert.equal(policy.nextDelay(), 2);
  policy.markRunning();
  now += 99;
  assert.equal(policy.nextDelay(), null);
  policy.markRunning();
  now += 100;
  assert.equal(policy.nextDelay(), 1);
});
