/**
 * PROTOCOL.md is replayed against a real kernel, through the bridge's pipes and decoder: one of each
 * kind of exchange, and everything in a full run. tests/test_protocol_document.py always plays all.
 */

import assert from 'node:assert/strict';
import test from 'node:test';

import { TranscriptPlayer } from './support/transcript_player.js';
import { matches, transcripts } from './support/transcripts.js';

const documented = transcripts();
const KINDS = new Set([
  'malformed',
  'ready',
  'stopAll',
  'sessionCrashed',
  'kernelServerCrashed',
  'openRepo',
  'updateSettings',
  'search',
  'getIndexStatus',
  'pauseIndexing',
  'beginConversation',
  'stopConversation',
  'beginAgentTurn',
  'followAgentSessions',
]);
const played =
  process.env.CODEKERNEL_FULL_TESTS === '1'
    ? documented
    : documented.filter(({ name }) => KINDS.has(name));

for (const transcript of played) {
  test(`the kernel says what the document says: ${transcript.name}`, async (t) => {
    const breaking = transcript.name === 'kernelServerCrashed';
    const player = await TranscriptPlayer.built(t, { breaking });
    if (transcript.name !== 'ready') {
      const ready = { sessionId: -1, toMain: true, callbackId: 1, isReply: false };
      await player.expectMessage({ ...ready, message: { type: 'ready' } });
    }
    if (transcript.session !== null) await player.open(transcript.session);
    await player.play(transcript);
    player.run.endInput();
    const { code } = await player.run.ended;
    assert.equal(code, breaking ? 1 : 0);
    assert.equal(player.messages.length, player.offset, 'the kernel said more than the document');
  });
}

test('the document has transcripts, and all that happens in them is known', () => {
  assert.ok(played.length >= KINDS.size);
  const { actions } = new TranscriptPlayer();
  const happening = documented.flatMap(({ steps }) => steps.filter(({ who }) => who === '!'));
  assert.deepEqual(
    happening.filter(({ text }) => !(text in actions)),
    [],
  );
});

test('the comparison would notice', () => {
  assert.ok(!matches({ a: 1 }, { a: 1, b: 2 }));
  assert.ok(!matches({ a: '...' }, { a: '' }));
  assert.ok(!matches([1], [1, 2]));
  assert.ok(!matches(1, true));
  assert.ok(!matches([], {}));
});
