/** What the chat models have used, as totals, days and bars. Pure. */

/** @typedef {import('../../../../types/protocol.d.ts').ApiUsageEntry} ApiUsageEntry */
/** @typedef {'tokens' | 'cost'} Measure */

/**
 * @typedef {object} Totals
 * @property {number} input
 * @property {number} output
 * @property {number} total
 * @property {number | null} cost null if no price is known
 * @property {boolean} isCostWhole whether every model has a price
 */

/** @typedef {{ modelName: string, value: number }} Piece */
/** @typedef {{ day: string, pieces: Piece[], total: number }} DayBar */

/** Days in one chart; older ones are in the table. */
export const MAX_DAYS = 30;

/**
 * @param {readonly ApiUsageEntry[]} usage
 * @returns {Totals}
 */
export function totalsOf(usage) {
  const sum = (/** @type {(entry: ApiUsageEntry) => number} */ of) =>
    usage.reduce((total, entry) => total + of(entry), 0);
  const priced = usage.filter(({ cost }) => cost !== undefined);
  return {
    input: sum((entry) => entry.input_token),
    output: sum((entry) => entry.output_token),
    total: sum((entry) => entry.total_token),
    cost: priced.length > 0 ? sum((entry) => entry.cost ?? 0) : null,
    isCostWhole: priced.length === usage.length,
  };
}

/**
 * What each repository has used, the one with the most first.
 *
 * @param {readonly import('../../../../types/protocol.d.ts').RepoUsageEntry[]} entries
 * @returns {{ repoName: string, tokens: number, cost: number | null }[]}
 */
export function reposOf(entries) {
  const names = [...new Set(entries.map(({ repoName }) => repoName))];
  return names
    .map((repoName) => {
      const mine = entries.filter((entry) => entry.repoName === repoName);
      const priced = mine.filter(({ cost }) => cost !== undefined);
      return {
        repoName,
        tokens: mine.reduce((sum, one) => sum + one.input_token + one.output_token, 0),
        cost: priced.length ? priced.reduce((sum, { cost }) => sum + (cost ?? 0), 0) : null,
      };
    })
    .sort((one, other) => other.tokens - one.tokens);
}

/**
 * The days up to the last one with a figure, empty ones included, oldest first.
 *
 * @param {readonly ApiUsageEntry[]} usage
 * @param {Measure} measure
 * @returns {DayBar[]}
 */
export function daysOf(usage, measure) {
  const all = usage.flatMap(({ days }) => days.map(({ day }) => day)).sort();
  if (all.length === 0) return [];
  return daysBetween(all[0], all[all.length - 1]).map((day) => {
    const pieces = usage
      .map(({ modelName, days }) => ({
        modelName,
        value: days
          .filter((one) => one.day === day)
          .reduce((sum, one) => sum + amount(one, measure), 0),
      }))
      .filter(({ value }) => value > 0);
    return { day, pieces, total: pieces.reduce((sum, { value }) => sum + value, 0) };
  });
}

/**
 * Round figures for an axis, from 0 to at least `most`.
 *
 * @param {number} most
 * @returns {number[]}
 */
export function axisOf(most) {
  if (!(most > 0)) return [0, 1];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/**
 * @param {string} first as 2026-01-31
 * @param {string} last
 * @returns {string[]} at most MAX_DAYS of them, the last ones
 */
function daysBetween(first, last) {
  const end = Date.parse(`${last}T00:00:00Z`);
  const begin = Math.max(Date.parse(`${first}T00:00:00Z`), end - (MAX_DAYS - 1) * 86_400_000);
  const days = [];
  for (let time = begin; time <= end; time += 86_400_000) {
    days.push(new Date(time).toISOString().slice(0, 10));
  }
  return days;
}

/**
 * @param {{ input_token: number, output_token: number, cost?: number }} day
 * @param {Measure} measure
 */
function amount(day, measure) {
  return measure === 'cost' ? (day.cost ?? 0) : day.input_token + day.output_token;
}
