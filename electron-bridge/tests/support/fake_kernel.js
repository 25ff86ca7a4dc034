/**
 * A kernel that is good at failing. It speaks the protocol's envelope and knows just enough
 * messages; a request's field `fault` tells it how to misbehave, an argument how to start.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

import { conversation } from './fake_conversations.js';

const [mode] = process.argv.slice(2);
const userData = process.env.CODEKERNEL_USER_DATA ?? '.';

/** How often a kernel was started in this userData. */
function countStarts() {
  const file = path.join(userData, 'starts');
  const starts = existsSync(file) ? Number(readFileSync(file, 'utf8')) + 1 : 1;
  writeFileSync(file, String(starts));
  return starts;
}

export function say(envelope) {
  return new Promise((resolve) => process.stdout.write(`${JSON.stringify(envelope)}\n`, resolve));
}

const reply = (request, data, status = { code: 'SUCCESS', message: '' }) =>
  say({ ...request, isReply: true, status, ...(data !== undefined && { data }) });

const tell = (sessionId, message) =>
  say({ sessionId, toMain: sessionId === -1, callbackId: 77, isReply: false, message });

/** Byte by byte, each in a write of its own, so that no chunk has a whole character. */
async function drip(request, data) {
  const status = { code: 'SUCCESS', message: '' };
  const line = Buffer.from(`${JSON.stringify({ ...request, isReply: true, status, data })}\n`);
  for (const byte of line) await new Promise((go) => process.stdout.write(Buffer.of(byte), go));
}

const faults = {
  crash: () => process.exit(3),
  crashOnce: (request) => (starts === 1 ? process.exit(3) : reply(request, { starts })),
  async crashLoudly() {
    await tell(-1, { type: 'kernelServerCrashed', error: 'no memory left' });
    process.exit(1);
  },
  async crashMidLine(request) {
    const half = JSON.stringify({ ...request, isReply: true }).slice(0, 40);
    await new Promise((go) => process.stdout.write(half, go));
    process.exit(3);
  },
  async crashMidKey(request) {
    const status = { code: 'SUCCESS', message: '' };
    const { fault: _fault, ...message } = request.message;
    const whole = { ...request, message, isReply: true, status, data: { apiKey: 'sk-invented' } };
    await new Promise((go) => process.stdout.write(JSON.stringify(whole).slice(0, -1), go));
    process.exit(3);
  },
  silent() {},
  drip: (request) => drip(request, { text: request.message.text }),
  async garbage(request) {
    await new Promise((go) => process.stdout.write('Traceback (most recent\n{"a":1}\n\n', go));
    await reply(request, { repoList: [] });
  },
  huge: (request) => reply(request, { text: 'x'.repeat(request.message.size) }),
  async complain(request) {
    await new Promise((go) => process.stderr.write('WARNING disk is slow: Schlüssel\n', go));
    await reply(request, {});
  },
  /** Says something, then reads nothing until a file appears. */
  async stopReading(request) {
    input.pause();
    process.stdin.pause();
    await reply(request, {});
    const resume = setInterval(() => {
      if (!existsSync(path.join(userData, 'read-on'))) return;
      clearInterval(resume);
      process.stdin.resume();
      input.resume();
    }, 5);
  },
  async unknownRequest(request) {
    await tell(-1, { type: 'sing' });
    await tell(999, { type: 'embeddingStatus', filePath: 'a', status: 'done', progress: 1 });
    await reply(request, {});
  },
  crashSession: async (request) => {
    await tell(request.message.which, { type: 'sessionCrashed', error: 'index is broken' });
    await reply(request, {});
  },
};

const answers = {
  stopAll: async (request) => {
    await reply(request);
    process.exit(0);
  },
  getRepos: (request) =>
    reply(request, { repoList: [], starts, heard, conversations: conversation.running }),
  openRepo: async (request) => {
    const { repoName, sessionId } = request.message;
    if (repoName === 'nowhere') {
      return reply(request, undefined, { code: 'REPO_NOT_FOUND', message: 'No such repository.' });
    }
    await reply(request, { repoName, path: `/repos/${repoName}` });
    if (repoName === 'cursed') {
      return tell(sessionId, { type: 'sessionCrashed', error: 'it is cursed' });
    }
    await tell(sessionId, { type: 'sessionPrepared', repoName, path: `/repos/${repoName}` });
    for (const progress of [0, 0.5, 1]) {
      const status = progress === 1 ? 'done' : 'embedding';
      await tell(sessionId, { type: 'embeddingStatus', filePath: 'a.py', status, progress });
    }
  },
  closeRepo: (request) => reply(request),
  deleteRepo: (request) => reply(request),
  search: (request) => reply(request, { results: [], type: 'result', starts }),
  beginConversation: (request) => conversation(request, reply),
  beginAgentTurn: (request) => conversation(request, reply),
  followConversation: (request) => conversation(request, reply),
  stopConversation: (request) => {
    conversation.stop(request.message.conversationId);
    return reply(request);
  },
};

const starts = countStarts();
if (mode === 'crash-at-start') process.exit(1);
if (mode === 'crash-twice-at-start' && starts <= 2) process.exit(1);
if (mode === 'deaf') process.on('SIGTERM', () => {});
/** Replies of the front end, so that tests can ask for them. */
const heard = [];
const input = readline.createInterface({ input: process.stdin });
input.on('line', (line) => {
  const request = JSON.parse(line);
  if (request.isReply) {
    heard.push([request.message.type, request.callbackId, request.status.code]);
    return;
  }
  const fault = faults[request.message.fault];
  if (fault) fault(request);
  else if (mode !== 'deaf' || request.message.type !== 'stopAll') {
    answers[request.message.type]?.(request);
  }
});
input.on('close', () => {
  if (mode === 'deaf') setInterval(() => {}, 1000);
  else process.exit(0);
});
if (mode !== 'never-ready') tell(-1, { type: 'ready' });
