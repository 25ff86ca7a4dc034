import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import test from 'node:test';

import { Outbox } from '../src/outbox.js';

/** A pipe whose reader takes a line when it is told to. */
function slowPipe() {
  const written = [];
  const taken = [];
  const stream = new Writable({
    highWaterMark: 4,
    write(chunk, _encoding, finished) {
      written.push(chunk.toString());
      taken.push(finished);
    },
  });
  return { stream, written, take: () => taken.shift()?.() };
}

const turn = () => new Promise(setImmediate);

test('nothing is written faster than it is read, and the order is kept', async () => {
  const { stream, written, take } = slowPipe();
  const outbox = new Outbox(stream);
  const sent = ['one', 'two', 'three'].map((line) => outbox.send(line));
  await sent[0];
  assert.deepEqual(written, ['one\n']);
  assert.equal(outbox.length, 2);
  take();
  await sent[1];
  take();
  await sent[2];
  await turn();
  assert.deepEqual(written, ['one\n', 'two\n', 'three\n']);
});

test('a queue that is full refuses, but for what is urgent, which goes first', async () => {
  const { stream, written, take } = slowPipe();
  const outbox = new Outbox(stream, { lines: 1 });
  await outbox.send('under way');
  const waiting = outbox.send('waits');
  await assert.rejects(outbox.send('too many'), { code: 'QUEUE_FULL' });
  const stop = outbox.send('stop', { urgent: true });
  take();
  await stop;
  take();
  await waiting;
  await turn();
  assert.deepEqual(written, ['under way\n', 'stop\n', 'waits\n']);
});

test('too many bytes are refused as well', async () => {
  const { stream } = slowPipe();
  const outbox = new Outbox(stream, { bytes: 100 });
  await outbox.send('under way');
  const waiting = outbox.send('x'.repeat(90));
  await assert.rejects(outbox.send('x'.repeat(20)), { code: 'QUEUE_FULL' });
  outbox.close(new Error('over'));
  await assert.rejects(waiting, /over/);
});

test('what was never written is rejected when the pipe breaks', async () => {
  const { stream } = slowPipe();
  const outbox = new Outbox(stream);
  await outbox.send('under way');
  const waiting = outbox.send('waits');
  stream.destroy(new Error('EPIPE'));
  await assert.rejects(waiting, { code: 'KERNEL_CRASHED' });
  await assert.rejects(outbox.send('late'), { code: 'KERNEL_CRASHED' });
});
