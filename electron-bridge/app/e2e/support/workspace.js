/** What a story happens in: an empty userData, a small repository, a language model. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { scriptedModel } from './scripted_model.js';
import { killKernels } from './terminal.js';

const FILES = {
  'greet.py': 'def greet(name):\n    """Say hello."""\n    return f"Hello, {name}!"\n',
  'src/shout.ts':
    "import { greet } from './greet';\n\nexport function shout(name: string): string {\n  return greet(name).toUpperCase();\n}\n",
  'docs/说明.md': '# 问候\n\n`greet` 返回一句问候语，`shout` 把它变成大写。\n',
  'main.go':
    'package main\n\nimport "fmt"\n\n// main greets the world.\nfunc main() {\n\tfmt.Println("Hello, world!")\n}\n',
  'picture.bin': '\0\u0001\u0002'.repeat(200),
};

/**
 * @typedef {{
 *   folder: string, userData: string, repo: string, edited: string,
 *   model: { url: string, asked: any[] },
 *   environ: Record<string, string | undefined>,
 * }} Workspace
 */

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} [files]
 * @returns {Promise<Workspace>}
 */
export async function makeWorkspace(t, files = FILES) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'codekernel-app-'));
  t.after(() => {
    killKernels(folder);
    return rm(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  const [userData, repo, home, bin] = ['userData', 'demo', 'home', 'bin'].map((name) =>
    path.join(folder, name),
  );
  await Promise.all([userData, repo, home, bin].map((each) => mkdir(each)));
  await writeFiles(repo, files);
  const edited = path.join(folder, 'edited');
  await writeFile(path.join(bin, 'code'), editor(edited), { mode: 0o755 });
  return {
    folder,
    userData,
    repo,
    model: await scriptedModel(t),
    edited,
    environ: environment(userData, home, bin),
  };
}

/**
 * @param {string} repo
 * @param {Record<string, string>} files
 */
export async function writeFiles(repo, files) {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(repo, name)), { recursive: true });
    await writeFile(path.join(repo, name), content);
  }
}

/**
 * Settings with the static model alone, which is the quicker one, and the scripted model.
 *
 * @param {string} url
 * @param {{ searchLimit?: number }} [options]
 */
export function settingsFor(url, { searchLimit = 10 } = {}) {
  const config = { name: 's', modelName: 'codekernel-static-v3', inputLength: 950, selected: true };
  const model = {
    name: 'scripted',
    modelName: 'scripted-1',
    url,
    setApiKey: false,
    inputPrice: 1,
    outputPrice: 2,
  };
  return {
    searchSettings: {
      searchLimit,
      embeddingConfig: { configs: [config] },
      rerankConfig: { configs: [] },
    },
    localModelManagement: { models: [] },
    conversationSettings: { generationModel: [model], historyLength: 1000 },
    performance: { maxThreads: 0, useCuda: false, useCoreML: false },
  };
}

/**
 * An editor that notes what it was asked to open, whole lines at a time.
 *
 * @param {string} file
 */
function editor(file) {
  return `#!/bin/sh\nprintf '%s\\n' "$*" >> '${file}'\n`;
}

/** Nothing of the person who runs the tests: no keyring, no editor, no other userData. */
function environment(userData, home, bin) {
  const { PATH, LANG, DISPLAY, CODEKERNEL_PYTHON, LD_LIBRARY_PATH, TMPDIR } = process.env;
  const kept = { PATH: `${bin}:${PATH}`, DISPLAY, CODEKERNEL_PYTHON, LD_LIBRARY_PATH, TMPDIR };
  return {
    ...Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)),
    LANG: LANG ?? 'C.UTF-8',
    HOME: home,
    CODEKERNEL_USER_DATA: userData,
  };
}
