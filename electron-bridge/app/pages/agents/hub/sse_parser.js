/** Server-sent events from pieces of text. Pure. */

/** @typedef {{ id: string, data: string }} ServerEvent `id` is '' for one that is not replayed */

export class SseParser {
  #rest = '';
  #id = '';
  /** @type {string[]} */
  #data = [];

  /**
   * @param {string} text the next piece, cut anywhere
   * @returns {ServerEvent[]} those that are complete
   */
  feed(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#take(line.endsWith('\r') ? line.slice(0, -1) : line));
  }

  /**
   * @param {string} line
   * @returns {ServerEvent[]}
   */
  #take(line) {
    if (line === '') {
      const event = { id: this.#id, data: this.#data.join('\n') };
      const isEmpty = this.#data.length === 0;
      this.#id = '';
      this.#data = [];
      return isEmpty ? [] : [event];
    }
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'data') this.#data.push(value);
    else if (name === 'id') this.#id = value;
    return [];
  }
}
