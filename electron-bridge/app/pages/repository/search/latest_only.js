/** Runs one request at a time and keeps only the newest that waits, as for a search box. Pure. */

/**
 * @template Question, Answer
 */
export class LatestOnly {
  /** @type {{ question: Question, number: number } | null} */
  #waiting = null;
  #isRunning = false;
  #number = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {(question: Question) => Promise<Answer>} ask
   * @param {{
   *   answered: (answer: Answer, question: Question) => void,
   *   failed: (failure: unknown, question: Question) => void,
   *   changed?: () => void,
   * }} callbacks for the newest request only
   */
  constructor(ask, { answered, failed, changed = () => {} }) {
    this.ask = ask;
    this.callbacks = { answered, failed, changed };
  }

  /** Whether an answer is still to come. */
  get isUnderWay() {
    return this.#isRunning || this.#waiting !== null || this.#timer !== undefined;
  }

  /**
   * @param {Question} question
   * @param {number} [delay] milliseconds in which a newer one may take its place
   */
  schedule(question, delay = 0) {
    this.#number += 1;
    this.#waiting = { question, number: this.#number };
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (delay > 0) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#next();
      }, delay);
    } else {
      this.#next();
    }
    this.callbacks.changed();
  }

  /** Drop what is waiting or running; its result is ignored. */
  cancel() {
    this.#number += 1;
    this.#waiting = null;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.callbacks.changed();
  }

  async #next() {
    if (this.#isRunning || !this.#waiting || this.#timer !== undefined) return;
    const { question, number } = this.#waiting;
    this.#waiting = null;
    this.#isRunning = true;
    /** @type {() => void} */
    let notify;
    try {
      const answer = await this.ask(question);
      notify = () => this.callbacks.answered(answer, question);
    } catch (failure) {
      notify = () => this.callbacks.failed(failure, question);
    }
    this.#isRunning = false;
    if (number === this.#number) notify();
    this.callbacks.changed();
    this.#next();
  }
}
