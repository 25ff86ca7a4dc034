/**
 * One question and its streamed answer, or one task of an agent, as something to iterate over.
 *
 * The kernel accepts (a reply without data), then sends parts, then `done`. If the model fails, the
 * failure comes as a reply of its own and `done` still follows.
 */

import { randomUUID } from 'node:crypto';

import { Deferred, ignore } from './deferred.js';
import { parseFailure, KernelError, Reason } from './errors.js';
import { PartQueue } from './part_queue.js';

/** After a stop or a failure the kernel saves the turn and says `done`; it needs no longer. */
export const DONE_TIMEOUT_MS = 10_000;

const SESSION_NOT_FOUND = 'SESSION_NOT_FOUND';

/** Why a signal is aborted when nobody reads any more: an agent goes on without its reader. */
export const LEFT = 'left';

/**
 * @typedef {{ modelName: string, conversationId: number, query: string, isAgent?: boolean, isFollowed?: boolean, goesOn?: boolean, reviews?: boolean }} Question
 * @typedef {{ signal?: AbortSignal, doneTimeoutMs?: number, timeoutMs?: number }} ConverseOptions
 */

/**
 * Yields every part, `done` last. A failure is thrown, with the kernel's code; if `done` came all
 * the same, it is the error's `done`. Aborting asks the kernel to stop: what it still says, and
 * `done`, are yielded. Leaving the loop stops a question, too, and waits until it has stopped; an
 * agent goes on, and so does a question that `goesOn`.
 *
 * @param {import('./request_client.js').RequestClient} exchange
 * @param {number} sessionId
 * @param {Question} question
 * @param {ConverseOptions} [options]
 * @returns {AsyncGenerator<import('./part_queue.js').Part, void, void>}
 */
export async function* converse(exchange, sessionId, question, options = {}) {
  const { signal, doneTimeoutMs = DONE_TIMEOUT_MS, timeoutMs } = options;
  if (signal?.aborted) throw abortedError();
  const stream = new ReplyStream(doneTimeoutMs);
  const { conversationId } = question;
  const goesOn = question.isAgent || question.isFollowed || question.goesOn;
  const forget = exchange.openStream(
    sessionId,
    ...beginMessage(question),
    { timeoutMs },
    { onReply: (reply) => stream.onReply(reply), onFail: (reason) => stream.fail(reason) },
  );
  const stop = () => {
    if (goesOn && signal?.reason === LEFT) {
      stream.fail(abortedError());
      return;
    }
    stream.expectDone(abortedError());
    exchange
      .request(sessionId, 'stopConversation', { conversationId }, { urgent: true })
      .catch(ignore); // a kernel that is gone has stopped as well
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const part = await stream.parts.next();
      yield part;
      if (part.type === 'done') return;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    if (goesOn) stream.close();
    else if (!stream.isOver && !signal?.aborted) stop();
    await stream.over.promise; // until then the kernel would refuse the conversation's next question
    forget();
  }
}

/**
 * @param {Question} question
 * @returns {[string, object]} the message that begins it, and its fields
 */
function beginMessage({ modelName, conversationId, query, ...how }) {
  if (how.isFollowed) return ['followConversation', { conversationId }];
  // By which another kernel knows it, if this one dies before it has accepted it.
  const fields = { modelName, conversationId, query, turnKey: randomUUID() };
  return how.isAgent
    ? ['beginAgentTurn', { ...fields, ...(how.reviews && { reviews: true }) }]
    : ['beginConversation', { ...fields, ...(how.goesOn && { goesOn: true }) }];
}

/** Replies -> parts, and when there will be no more. */
class ReplyStream {
  parts = new PartQueue();
  over = new Deferred();
  isOver = false;
  #hasStarted = false;
  /** @type {KernelError | null} */
  #failure = null;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {number} doneTimeoutMs */
  constructor(doneTimeoutMs) {
    this.doneTimeoutMs = doneTimeoutMs;
  }

  /**
   * @param {import('./envelope.js').Envelope} reply
   * @returns {boolean} whether it was the last
   */
  onReply({ status, data }) {
    const failure = parseFailure(status);
    const isLast = !this.#hasStarted || failure?.code === SESSION_NOT_FOUND;
    if (failure && isLast) {
      this.fail(failure); // refused, or there is no session left to send `done`
    } else if (failure) {
      this.#failure ??= failure;
      this.expectDone(failure);
    } else if (data?.type === 'done') {
      this.#end(data);
    } else if (data) {
      this.parts.push(data);
    }
    this.#hasStarted = true;
    return this.isOver;
  }

  /**
   * `done` must come soon; if it does not, this is what happened.
   *
   * @param {KernelError} reason
   */
  expectDone(reason) {
    if (this.isOver) return;
    this.#timer ??= setTimeout(() => this.fail(this.#failure ?? reason), this.doneTimeoutMs);
  }

  /** @param {KernelError} reason */
  fail(reason) {
    this.close();
    this.parts.fail(reason);
  }

  close() {
    this.isOver = true;
    this.over.resolve();
    clearTimeout(this.#timer);
  }

  /** @param {import('./part_queue.js').Part} done */
  #end(done) {
    this.close();
    if (!this.#failure) {
      this.parts.push(done);
      return;
    }
    const { code, message } = this.#failure;
    this.parts.fail(new KernelError(code, message, { done }));
  }
}

function abortedError() {
  return new KernelError(Reason.ABORTED, 'The conversation was stopped.');
}
