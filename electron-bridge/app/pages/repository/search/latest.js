/** One question at a time, and of those that wait only the newest: what a person types into. Pure. */

/**
 * @template Question, Answer
 */
export class LatestOnly {
  /** @type {{ question: Question, number: number } | null} */
  #waiting = null;
  #isBusy = false;
  #number = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #clock;

  /**
   * @param {(question: Question) => Promise<Answer>} ask
   * @param {{
   *   answered: (answer: Answer, question: Question) => void,
   *   failed: (failure: unknown, question: Question) => void,
   *   changed?: () => void,
   * }} told about the newest question only
   */
  constructor(ask, { answered, failed, changed = () => {} }) {
    this.ask = ask;
    this.told = { answered, failed, changed };
  }

  /** Whether an answer is still to come. */
  get isUnderWay() {
    return this.#isBusy || this.#waiting !== null || this.#clock !== undefined;
  }

  /**
   * @param {Question} question
   * @param {number} [delay] milliseconds in which a newer one may take its place
   */
  put(question, delay = 0) {
    this.#number += 1;
    this.#waiting = { question, number: this.#number };
    clearTimeout(this.#clock);
    this.#clock = undefined;
    if (delay > 0) {
      this.#clock = setTimeout(() => {
        this.#clock = undefined;
        this.#next();
      }, delay);
    } else {
      this.#next();
    }
    this.told.changed();
  }

  /** Ask at once what waits for its delay. */
  hurry() {
    if (this.#clock === undefined) return;
    clearTimeout(this.#clock);
    this.#clock = undefined;
    this.#next();
  }

  /** Forget what was asked; nobody is told of its answer. */
  drop() {
    this.#number += 1;
    this.#waiting = null;
    clearTimeout(this.#clock);
    this.#clock = undefined;
    this.told.changed();
  }

  async #next() {
    if (this.#isBusy || !this.#waiting || this.#clock !== undefined) return;
    const { question, number } = this.#waiting;
    this.#waiting = null;
    this.#isBusy = true;
    /** @type {() => void} */
    let tell;
    try {
      const answer = await this.ask(question);
      tell = () => this.told.answered(answer, question);
    } catch (failure) {
      tell = () => this.told.failed(failure, question);
    }
    this.#isBusy = false;
    if (number === this.#number) tell();
    this.told.changed();
    this.#next();
  }
}
