import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { TIMEOUT_MS, temporaryFolder } from '../../tests/support/fixtures.js';
import { EDITORS } from '../../src/page_api.js';
import { findEditorCommand, readPreferences } from '../src/editors.js';
import { openInEditor } from '../src/open_in_editor.js';
import { makeProgramFinder, launchDetached } from '../src/programs.js';
import { findTextOpener } from '../src/text_opener.js';

const FILE = '/code/a b:c.py';

/** As if these programs were on PATH. */
function having(...programs) {
  return (program) => (programs.includes(program) ? `/bin/${program}` : null);
}

function command(environ, ...programs) {
  return findEditorCommand(FILE, 7, { environ, find: having(...programs) });
}

test('each editor is told the line in its own words', () => {
  const said = (name) => command({}, name).args;
  assert.deepEqual(said('code'), ['--goto', `${FILE}:7`]);
  assert.deepEqual(said('cursor'), ['--goto', `${FILE}:7`]);
  assert.deepEqual(said('zed'), [`${FILE}:7`]);
  assert.deepEqual(said('subl'), [`${FILE}:7`]);
  assert.deepEqual(said('idea'), ['--line', '7', FILE]);
  assert.deepEqual(said('gvim'), ['+7', FILE]);
  assert.deepEqual(said('notepad++'), ['-n7', FILE]);
});

test('every known editor gets the file, never through a shell', () => {
  for (const name of Object.keys(EDITORS)) {
    const { args } = command({}, name);
    assert.ok(
      args.some((word) => word.startsWith(FILE)),
      name,
    );
    assert.ok(args.join(' ').includes('7'), name);
  }
});

test('the first that is there is used, in the order of the table', () => {
  assert.equal(command({}, 'gedit', 'zed', 'idea').editor, 'zed');
  assert.equal(command({}), null);
});

test('a person’s own wish goes before what is found', () => {
  const own = { CODEKERNEL_EDITOR: 'subl --new-window', VISUAL: 'code' };
  assert.deepEqual(command(own, 'code', 'subl'), {
    editor: 'subl',
    program: '/bin/subl',
    args: ['--new-window', `${FILE}:7`],
  });
  assert.equal(command({ EDITOR: 'kate' }, 'code', 'kate').editor, 'kate');
});

test('an editor for a terminal is no wish, for there is no terminal', () => {
  assert.deepEqual(readPreferences({ VISUAL: 'vim', EDITOR: 'nano -w' }), []);
  assert.equal(command({ EDITOR: 'vim' }, 'vim', 'code').editor, 'code');
});

test('an unknown editor that was named gets the file alone', () => {
  const environ = { CODEKERNEL_EDITOR: '"/opt/My Editor/bin/myed.exe" -x' };
  const find = (program) => program;
  assert.deepEqual(findEditorCommand(FILE, 7, { environ, find }), {
    editor: 'myed',
    program: '/opt/My Editor/bin/myed.exe',
    args: ['-x', FILE],
  });
});

test('a wish that is not installed is passed over', () => {
  assert.equal(command({ CODEKERNEL_EDITOR: 'gone' }, 'code').editor, 'code');
});

test('programs are found in the folders of PATH that are absolute, if they can be run', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'code'), '', { mode: 0o755 });
  await writeFile(path.join(folder, 'zed'), '', { mode: 0o644 });
  await mkdir(path.join(folder, 'subl'));
  const find = makeProgramFinder({ environ: { PATH: `.:relative:${folder}` }, platform: 'linux' });
  assert.equal(find('code'), path.join(folder, 'code'));
  for (const absent of ['zed', 'subl', 'idea']) assert.equal(find(absent), null);
  await chmod(path.join(folder, 'zed'), 0o755);
  assert.equal(find('zed'), path.join(folder, 'zed'));
});

test('on Windows the program itself is started, not its .cmd', () => {
  const there = new Set(['C:\\Code\\Code.exe', 'C:\\tools\\subl.exe']);
  const environ = { Path: 'C:\\Code\\bin;C:\\tools' };
  const find = makeProgramFinder({ environ, platform: 'win32' }, (file) => there.has(file));
  assert.equal(find('code'), 'C:\\Code\\Code.exe');
  assert.equal(find('subl'), 'C:\\tools\\subl.exe');
  assert.equal(find('cursor'), null);
});

test('without an editor the system’s own for text is taken, never the opener of that file', async () => {
  const opener = (platform, find = having()) =>
    findTextOpener('/code/evil.bat', { platform, find });
  assert.deepEqual((await opener('darwin')).args, ['-t', '/code/evil.bat']);
  assert.equal((await opener('win32')).program, 'notepad.exe');
  assert.equal(await opener('linux'), null);
});

/** A repository with a file, a link that leads out, and a machine with one editor. */
async function repository(t) {
  const folder = await temporaryFolder(t);
  const root = path.join(folder, 'repo');
  await mkdir(path.join(root, 'src'), { recursive: true });
  await mkdir(path.join(folder, 'bin'));
  await writeFile(path.join(root, 'src', 'a.py'), 'a = 1\n');
  await writeFile(path.join(folder, 'secret'), 's');
  await symlink(path.join(folder, 'secret'), path.join(root, 'link.py'));
  await symlink(path.join(root, 'src'), path.join(root, 'inner'));
  await writeFile(path.join(folder, 'bin', 'code'), '', { mode: 0o755 });
  const started = [];
  const machine = { environ: { PATH: path.join(folder, 'bin') }, platform: 'linux' };
  const start = async (program, args) => started.push([path.basename(program), ...args]);
  const open = (filePath, line) => openInEditor(root, { filePath, line }, { machine, start });
  return { root, started, open, machine };
}

test('a file of the repository is opened at its line', async (t) => {
  const { root, started, open } = await repository(t);
  assert.deepEqual(await open('src/a.py', 3), { editor: 'code' });
  await open('inner/a.py', 'rm -rf');
  assert.deepEqual(started, [
    ['code', '--goto', `${root}/src/a.py:3`],
    ['code', '--goto', `${root}/src/a.py:1`],
  ]);
});

test('nothing outside the repository is opened, whatever way it is named', async (t) => {
  const { root, started, open } = await repository(t);
  for (const filePath of ['../secret', `${root}/../secret`, 'link.py', '/etc/passwd', '.', 'src']) {
    await assert.rejects(open(filePath, 1), { code: 'INVALID_PATH' }, filePath);
  }
  for (const filePath of [undefined, '', 7, 'a\0b']) {
    await assert.rejects(open(filePath, 1), { code: 'WRONG_PARAM' });
  }
  await assert.rejects(open('gone.py', 1), /not there any more/);
  assert.deepEqual(started, []);
});

test('without an editor a person is told which were looked for', async (t) => {
  const { root } = await repository(t);
  const machine = { environ: { PATH: '' }, platform: 'linux' };
  await assert.rejects(openInEditor(root, { filePath: 'src/a.py' }, { machine }), (error) => {
    assert.match(error.message, /code, cursor, windsurf/);
    assert.match(error.message, /CODEKERNEL_EDITOR/);
    return true;
  });
});

test('an editor is really started, without what was meant for us', async (t) => {
  const folder = await temporaryFolder(t);
  const said = path.join(folder, 'said');
  // Renamed into place, so that whoever sees it can read all of it.
  const script = `const fs = require('fs');
    fs.writeFileSync('${said}.part', JSON.stringify(process.env));
    fs.renameSync('${said}.part', '${said}');`;
  await writeFile(path.join(folder, 'ed.cjs'), script);
  const watcher = watch(folder);
  t.after(() => watcher.close());
  const { PATH } = process.env;
  await launchDetached(process.execPath, [path.join(folder, 'ed.cjs')], {
    PATH,
    HOME: folder,
    ELECTRON_RUN_AS_NODE: '1',
    CODEKERNEL_USER_DATA: '/secret',
  });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  while (!existsSync(said)) await once(watcher, 'change', { signal });
  const seen = JSON.parse(await readFile(said, 'utf8'));
  assert.equal(seen.HOME, folder);
  assert.equal(seen.ELECTRON_RUN_AS_NODE, undefined);
  assert.equal(seen.CODEKERNEL_USER_DATA, undefined);
});

test('an editor that cannot be started is a failure with its reason', async (t) => {
  const { root, machine } = await repository(t);
  const start = (program, args, environ) => launchDetached(`${program}-gone`, args, environ);
  await assert.rejects(openInEditor(root, { filePath: 'src/a.py' }, { machine, start }), {
    code: 'INVALID_PATH',
    message: /code cannot be started: .*ENOENT/,
  });
});
