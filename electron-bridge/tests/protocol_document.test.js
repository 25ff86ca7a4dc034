/** PROTOCOL.md is replayed against a real kernel, through the bridge's pipes and decoder. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { Stage } from './support/stage.js';
import { same, transcripts } from './support/transcripts.js';

const documented = transcripts();

for (const transcript of documented) {
  test(`the kernel says what the document says: ${transcript.name}`, async (t) => {
    const unknown = transcript.steps.filter(
      ({ who, text }) => who === '!' && !(text in new Stage().happenings),
    );
    assert.deepEqual(unknown, [], 'tests/support/stage.js does not know what happens here');
    const stage = await Stage.built(t, { breaking: transcript.name === 'kernelServerCrashed' });
    if (transcript.name !== 'ready') {
      const ready = { sessionId: -1, toMain: true, callbackId: 1, isReply: false };
      await stage.hear({ ...ready, message: { type: 'ready' } });
    }
    if (transcript.session !== null) await stage.open(transcript.session);
    await stage.play(transcript);
    stage.run.endInput();
    const { code } = await stage.run.ended;
    assert.equal(code, transcript.name === 'kernelServerCrashed' ? 1 : 0);
    assert.equal(stage.messages.length, stage.heard, 'the kernel said more than the document');
  });
}

test('the document has transcripts', () => {
  assert.ok(documented.length > 15);
});

test('the comparison would notice', () => {
  assert.ok(!same({ a: 1 }, { a: 1, b: 2 }));
  assert.ok(!same({ a: '...' }, { a: '' }));
  assert.ok(!same([1], [1, 2]));
  assert.ok(!same(1, true));
  assert.ok(!same([], {}));
});
