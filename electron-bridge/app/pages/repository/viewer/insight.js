/** What is known of a place in the code: who calls it, what it calls, its tests, its commits. */

import { kernel } from '../../common/kernel.js';

/** @typedef {import('../../../../types/protocol.d.ts').CodeDefinition} CodeDefinition */
/** @typedef {import('../../../../types/protocol.d.ts').CallEntry} CallEntry */
/** @typedef {import('../../../../types/protocol.d.ts').CalledDefinition} CalledDefinition */
/** @typedef {import('../../../../types/protocol.d.ts').GetImpactReply} GetImpactReply */
/** @typedef {import('../../../../types/protocol.d.ts').GetLineHistoryReply} GetLineHistoryReply */

/**
 * @typedef {object} Calls of the definitions of a place
 * @property {CodeDefinition[]} definitions
 * @property {CallEntry[]} callers those that call it themselves
 * @property {CallEntry[]} callees
 * @property {GetImpactReply['callers']} farther those that reach it by another one
 * @property {GetImpactReply['tests']} tests
 * @property {number} moreCallers
 * @property {number} moreCallees
 * @property {number} weakTests
 * @property {number} behind files that were not read yet
 */

/** @template Found @typedef {{ found: Found | null, failure: unknown }} Part */

/** What a place of hundreds of lines has beyond is not asked about one by one. */
const MAX_DEFINITIONS = 3;
const COMMITS = 10;

export class Insight {
  /** `path:10-20`, or a name. */
  place = '';
  /** @type {Part<Calls>} */
  calls = { found: null, failure: null };
  /** @type {Part<GetLineHistoryReply>} */
  history = { found: null, failure: null };
  #number = 0;

  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
  }

  /** @param {string} place */
  ask(place) {
    if (place === this.place) return;
    this.again(place);
  }

  /** @param {string} [place] */
  again(place = this.place) {
    this.place = place;
    this.#number += 1;
    const number = this.#number;
    this.#read(number, 'calls', readCalls(place));
    this.#read(number, 'history', kernel.getLineHistory({ place, limit: COMMITS }));
  }

  /**
   * @param {number} number
   * @param {'calls' | 'history'} part
   * @param {Promise<any>} reading
   */
  async #read(number, part, reading) {
    this[part] = { found: null, failure: null };
    this.changed();
    const read = await reading.then(
      (found) => ({ found, failure: null }),
      (failure) => ({ found: null, failure }),
    );
    if (number !== this.#number) return;
    this[part] = read;
    this.changed();
  }
}

/**
 * @param {string} place
 * @returns {Promise<Calls>}
 */
async function readCalls(place) {
  const impact = await kernel.getImpact({ place });
  const asked = impact.changed.slice(0, MAX_DEFINITIONS);
  const replies = await Promise.all(asked.map(({ name }) => kernel.getCalls({ symbol: name })));
  const meant = replies.flatMap(({ definitions }, index) =>
    definitions.filter((each) => isSameDefinition(each.place, asked[index])),
  );
  const direct = meant.flatMap(({ callers }) => callers);
  const known = new Set(direct.map((each) => keyOf(each.place)));
  return {
    definitions: impact.changed,
    callers: distinct(direct),
    callees: distinct(meant.flatMap(({ callees }) => callees)),
    farther: impact.callers.filter((each) => !known.has(keyOf(each))),
    tests: impact.tests,
    moreCallers: sum(meant, ({ moreCallers }) => moreCallers) + impact.leftOut,
    moreCallees: sum(meant, ({ moreCallees }) => moreCallees),
    weakTests: impact.weakTests,
    behind: impact.behind,
  };
}

/**
 * @param {CodeDefinition} one
 * @param {CodeDefinition} other
 */
function isSameDefinition(one, other) {
  return keyOf(one) === keyOf(other);
}

/** @param {{ filePath: string, firstLine: number, name: string }} definition */
function keyOf({ filePath, firstLine, name }) {
  return `${filePath}:${firstLine} ${name}`;
}

/** @param {CallEntry[]} entries of several definitions, which may share a caller */
function distinct(entries) {
  return [...new Map(entries.map((entry) => [keyOf(entry.place), entry])).values()];
}

/**
 * @param {readonly CalledDefinition[]} definitions
 * @param {(one: CalledDefinition) => number} of
 */
function sum(definitions, of) {
  return definitions.reduce((total, one) => total + of(one), 0);
}
