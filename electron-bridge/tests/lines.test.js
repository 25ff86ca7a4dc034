import assert from 'node:assert/strict';
import test from 'node:test';

import { LineDecoder } from '../src/lines.js';

function decoded(chunks, limit) {
  const lines = [];
  const tooLong = [];
  const decoder = new LineDecoder({
    onLine: (line) => lines.push(line),
    onTooLong: (head) => tooLong.push(head),
    limit,
  });
  for (const chunk of chunks) decoder.push(chunk);
  return { lines, tooLong, rest: decoder.end() };
}

test('lines are the same wherever the pipe cuts them', () => {
  const text = '{"a":"漢字 🙂"}\n{"b":1}\r\n\n{"c":"é"}\n';
  const bytes = Buffer.from(text);
  for (let size = 1; size <= bytes.length; size += 1) {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    const { lines, rest } = decoded(chunks);
    assert.deepEqual(lines, ['{"a":"漢字 🙂"}', '{"b":1}', '{"c":"é"}']);
    assert.equal(rest, '');
  }
});

test('what has no newline at the end is no line', () => {
  const { lines, rest } = decoded([Buffer.from('{"a":1}\n{"b"')]);
  assert.deepEqual(lines, ['{"a":1}']);
  assert.equal(rest, '{"b"');
});

test('a line that is too long is thrown away but for its head, and the next one is heard', () => {
  const head = '{"sessionId":1,"toMain":false,"callbackId":5,"isReply":true,';
  const chunks = [head, 'x'.repeat(5000), 'y'.repeat(5000), '\n{"b":1}\n'].map(Buffer.from);
  const { lines, tooLong } = decoded(chunks, 2000);
  assert.deepEqual(lines, ['{"b":1}']);
  assert.equal(tooLong.length, 1);
  assert.ok(tooLong[0].startsWith(head));
});

test('a line of exactly the limit is a line', () => {
  assert.deepEqual(decoded([Buffer.from('12345\n123456\n')], 5).lines, ['12345']);
});
