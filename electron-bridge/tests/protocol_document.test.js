/** PROTOCOL.md is replayed against a real kernel, through the bridge's pipes and decoder. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { TranscriptPlayer } from './support/transcript_player.js';
import { matches, transcripts } from './support/transcripts.js';

const documented = transcripts();

for (const transcript of documented) {
  test(`the kernel says what the document says: ${transcript.name}`, async (t) => {
    const unknown = transcript.steps.filter(
      ({ who, text }) => who === '!' && !(text in new TranscriptPlayer().actions),
    );
    assert.deepEqual(unknown, [], 'transcript_player.js does not know what happens here');
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

test('the document has transcripts', () => {
  assert.ok(documented.length > 15);
});

test('the comparison would notice', () => {
  assert.ok(!matches({ a: 1 }, { a: 1, b: 2 }));
  assert.ok(!matches({ a: '...' }, { a: '' }));
  assert.ok(!matches([1], [1, 2]));
  assert.ok(!matches(1, true));
  assert.ok(!matches([], {}));
});
