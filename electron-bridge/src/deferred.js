/** A promise that is settled from outside. */

export class Deferred {
  /** @type {(value?: any) => void} */
  resolve = () => {};
  /** @type {(reason: Error) => void} */
  reject = () => {};

  constructor() {
    /** @type {Promise<any>} */
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.promise.catch(ignore); // a rejection that no code waits for is not an error
  }
}

export function ignore() {}
