/** Where a transcript is played: a real kernel process behind the bridge's own pipes. */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { kernelEnvironment, locateKernel } from '../../src/index.js';
import { KernelProcess } from '../../src/kernel_process.js';
import { chatEndpoint } from './chat_endpoint.js';
import { TIMEOUT_MS, temporaryFolder } from './fixtures.js';
import { fillPlaceholders, matches } from './transcripts.js';

const ROOT = new URL('../../../', import.meta.url);
const EXAMPLE = new URL('userData.example/settings.json', ROOT);
const BREAKING = fileURLToPath(new URL('tests/support/crashing_kernel.py', ROOT));
const KNOWN_ENDPOINT = 'https://api.deepseek.com/v1/chat/completions';
// As by default, so that nothing is cut again.
const STATIC = {
  name: 'static',
  modelName: 'codekernel-static-v3',
  inputLength: 950,
  selected: true,
};

// What stands in the way of an index is moved aside, but not what somebody writes.
const HOLDING = `
import sys
from pathlib import Path
from codekernel.storage.lexical_index import LexicalIndex
held = LexicalIndex.open(Path(sys.argv[1]), writable=True)
print("held", flush=True)
sys.stdin.read()
held.close()
`;

const MADE = 'made\n';
const MADE_LINE = {
  number: 1,
  tool: 'create_file',
  kind: 'created',
  path: 'made.txt',
  sha256_before: '',
  sha256_after: createHash('sha256').update(MADE).digest('hex'),
  folders: [],
};

/** Nothing but what Windows cannot start a process without. */
const { SYSTEMROOT } = process.env;
/** With a kernel of its own, which ends with the test. */
export const BARE_ENVIRONMENT = {
  ...(SYSTEMROOT ? { SYSTEMROOT } : {}),
  CODEKERNEL_STANDALONE: '1',
};

export function realKernel() {
  return locateKernel({ environ: { CODEKERNEL_PYTHON: process.env.CODEKERNEL_PYTHON } });
}

export class TranscriptPlayer {
  #holder;
  messages = [];
  offset = 0;

  static async built(t, { breaking = false } = {}) {
    const player = new TranscriptPlayer();
    const folder = await temporaryFolder(t, () => {
      player.run.kill();
      return player.run.ended;
    });
    player.userData = path.join(folder, 'userData');
    player.repo = path.join(folder, 'demo');
    await mkdir(player.userData);
    await mkdir(player.repo);
    player.url = await chatEndpoint(t);
    const { command, args } = realKernel();
    player.run = new KernelProcess(
      { command, args: breaking ? [BREAKING] : args, cwd: fileURLToPath(ROOT) },
      {
        env: kernelEnvironment(player.userData, BARE_ENVIRONMENT),
        log: { write: (line) => t.diagnostic(line) },
      },
    );
    player.run.on('message', (message) => isBetween(message) || player.messages.push(message));
    return player;
  }

  /** What stands for `!` in the document. */
  actions = {
    'another program holds the words of the index': async () => {
      const words = path.join(this.userData, 'index', '1', 'words');
      this.#holder = spawn(realKernel().command, ['-c', HOLDING, words], {
        cwd: fileURLToPath(ROOT),
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      await once(this.#holder.stdout, 'data');
    },
    'it lets go of them': async () => {
      this.#holder.stdin.end();
      await once(this.#holder, 'exit');
    },
    'the folder of the repository is deleted': () => rm(this.repo, { recursive: true }),
    'settings-modified.json is valid': () => this.#settings('"searchLimit": 10'),
    'settings-modified.json has searchLimit 0': () => this.#settings('"searchLimit": 0'),
    'settings-modified.json selects the static model alone': () =>
      this.#settings('"searchLimit": 10', `"configs": [${JSON.stringify(STATIC)}]`),
    'settings-modified.json is moved to settings.json': () =>
      rename(this.#modified, path.join(this.userData, 'settings.json')),
    'settings-modified.json has the chat model at $URL': async () => {
      const text = await readFile(this.#modified, 'utf8');
      await writeFile(this.#modified, text.replace(KNOWN_ENDPOINT, this.url));
    },
    'hello.py is written': () =>
      writeFile(path.join(this.repo, 'hello.py'), 'def hello():\n    return 1 < 2\n'),
    'noise.bits is written': () =>
      writeFile(path.join(this.repo, 'noise.bits'), Buffer.from([0, 1, 2, 3])),
    'conversation-1.json is there': async () => {
      const turn = { query: 'hello', retrieval: [], answer: 'It is here.', time: 1700000000000 };
      const content = {
        conversationId: 1,
        topic: 'hello',
        history: [turn],
        repoPath: this.repo,
      };
      const folder = path.join(this.userData, 'conversations');
      await mkdir(folder);
      await writeFile(path.join(folder, 'conversation-1.json'), JSON.stringify(content));
    },
    'an agent has made made.txt in conversation 2': async () => {
      const files = {
        'conversations/conversation-2.json': this.#agentsConversation(),
        'agent/journals/0badcafe/journal.jsonl': MADE_LINE,
      };
      for (const [name, content] of Object.entries(files)) {
        await mkdir(path.dirname(path.join(this.userData, name)), { recursive: true });
        await writeFile(path.join(this.userData, name), JSON.stringify(content));
      }
    },
    'made.txt is there': () => writeFile(path.join(this.repo, 'made.txt'), MADE),
    'the kernel breaks': () => this.run.send('break'),
    'exits with 0': () => this.exitsWith(0),
    'exits with 1': () => this.exitsWith(1),
  };

  #agentsConversation() {
    const agent = { session: '0badcafe', firstChange: 1, messages: [] };
    const turn = { query: 'make it', retrieval: [], answer: 'Done.', time: 1700000000000, agent };
    return { conversationId: 2, topic: 'make it', history: [turn], repoPath: this.repo };
  }

  get #modified() {
    return path.join(this.userData, 'settings-modified.json');
  }

  async #settings(limit, configs = '"configs": []') {
    const text = await readFile(EXAMPLE, 'utf8');
    const changed = text.replace('"searchLimit": 10', limit).replace('"configs": []', configs);
    await writeFile(this.#modified, changed);
  }

  async exitsWith(code) {
    const ending = await this.run.ended;
    if (ending.code !== code) throw new Error(`exited with ${ending.code}, not ${code}`);
  }

  /** Open the repository for a session and wait until it is prepared. */
  async open(sessionId) {
    const ask = (callbackId, message) =>
      this.run.send(
        JSON.stringify({ sessionId: -1, toMain: true, callbackId, isReply: false, message }),
      );
    await ask(1001, { type: 'createRepo', repoName: 'demo', path: this.repo });
    await ask(1002, { type: 'openRepo', repoName: 'demo', sessionId });
    while (this.messages.at(-1)?.message.type !== 'sessionPrepared') await this.#next();
    this.offset = this.messages.length;
  }

  async play(transcript) {
    const values = { REPO: this.repo, URL: this.url };
    for (const { who, text } of transcript.steps) {
      const filled = fillPlaceholders(text, values);
      if (who === '>') await this.run.send(filled);
      else if (who === '!') await this.actions[text]();
      else await this.expectMessage(JSON.parse(filled));
    }
  }

  /** Compare with the next message; what the index reports comes from a thread of its own. */
  async expectMessage(expected) {
    const isComparable = (message, place) =>
      place >= this.offset && isFromIndex(message) === isFromIndex(expected);
    while (!this.messages.some(isComparable)) await this.#next();
    const [actual] = this.messages.splice(this.messages.findIndex(isComparable), 1);
    if (!matches(expected, actual)) {
      throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
    }
  }

  #next() {
    return once(this.run, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) });
  }
}

function isFromIndex({ message }) {
  return message.type === 'embeddingStatus';
}

/** "Now and then how far it is", or a message that grows: how often depends on the machine. */
function isBetween({ message, data }) {
  if (data?.type === 'message' && data.content.meta?.complete === false) return true;
  return message.type === 'embeddingStatus' && message.progress > 0 && message.progress < 1;
}
