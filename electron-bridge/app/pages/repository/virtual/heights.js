/** Heights of many rows, most of them guessed: sums and places in O(log n). Pure. */

export class Heights {
  /** @type {Float64Array} */
  #heights;
  /** A Fenwick tree: each element is the sum of a stretch that ends there. @type {Float64Array} */
  #sums;

  /**
   * @param {number} count
   * @param {number} guess the height of a row that was not measured
   */
  constructor(count, guess) {
    this.count = count;
    this.#heights = new Float64Array(count).fill(guess);
    this.#sums = new Float64Array(count + 1);
    for (let place = 1; place <= count; place += 1) {
      this.#sums[place] += guess;
      const parent = place + (place & -place);
      if (parent <= count) this.#sums[parent] += this.#sums[place];
    }
  }

  /** @param {number} index */
  of(index) {
    return this.#heights[index];
  }

  /**
   * @param {number} index
   * @param {number} height
   * @returns {number} by how much it has grown
   */
  set(index, height) {
    const growth = height - this.#heights[index];
    if (growth === 0) return 0;
    this.#heights[index] = height;
    for (let place = index + 1; place <= this.count; place += place & -place) {
      this.#sums[place] += growth;
    }
    return growth;
  }

  /** @param {number} index the height of all rows before it */
  before(index) {
    let sum = 0;
    for (let place = index; place > 0; place -= place & -place) sum += this.#sums[place];
    return sum;
  }

  get total() {
    return this.before(this.count);
  }

  /** @param {number} offset which row is there; the last one if it is beyond all */
  at(offset) {
    let place = 0;
    let left = offset;
    for (let step = 2 ** Math.floor(Math.log2(Math.max(1, this.count))); step > 0; step >>= 1) {
      const next = place + step;
      if (next <= this.count && this.#sums[next] <= left) {
        place = next;
        left -= this.#sums[next];
      }
    }
    return Math.max(0, Math.min(place, this.count - 1));
  }
}

/**
 * Which rows to draw: those in sight, and some on either side.
 *
 * @param {Heights} heights
 * @param {{ top: number, height: number, beyond: number }} view `beyond`: pixels on either side
 * @returns {{ begin: number, end: number }}
 */
export function rowsInSight(heights, { top, height, beyond }) {
  if (heights.count === 0) return { begin: 0, end: 0 };
  return {
    begin: heights.at(Math.max(0, top - beyond)),
    end: heights.at(Math.max(0, top + height + beyond)) + 1,
  };
}
