/** How far the index is, as bars that never run backwards. Pure. */

/** @typedef {import('../../../../types/protocol.d.ts').GetIndexStatusReply & { paused?: boolean }} Status */

/**
 * @typedef {object} Progress
 * @property {boolean} isRunning
 * @property {number} files 0 to 1
 * @property {Record<string, number>} configs by name
 * @property {number} overall
 */

/** States in which nothing is to be done. */
const QUIET = new Set(['idle', 'read-only']);
/** States in which every file has been read. */
const READ = new Set(['idle', 'read-only', 'embedding']);
/** Reading is the smaller part of the work. */
const SHARE_OF_FILES = 0.2;

/** @param {Status} status */
export function isQuiet({ state }) {
  return QUIET.has(state);
}

/**
 * While files are still being found, what is to be done grows as well; a bar that has been
 * further keeps its place until the work is over.
 *
 * @param {Progress | null} before
 * @param {Status} status
 * @returns {Progress}
 */
export function advanced(before, status) {
  const isRunning = !isQuiet(status);
  const floor = before?.isRunning && isRunning ? before : null;
  const files = Math.max(floor?.files ?? 0, shareOfFiles(status, isRunning));
  const configs = Object.fromEntries(
    status.configs.map(({ name, chunks, waiting }) => [
      name,
      Math.max(floor?.configs[name] ?? 0, share(chunks - waiting, chunks, isRunning)),
    ]),
  );
  const vectors = mean(Object.values(configs), files);
  const overall = SHARE_OF_FILES * files + (1 - SHARE_OF_FILES) * Math.min(vectors, files);
  return { isRunning, files, configs, overall: Math.max(floor?.overall ?? 0, overall) };
}

/**
 * How long all of it will take; the slowest config says.
 *
 * @param {Status} status
 * @returns {number | null} seconds
 */
export function secondsLeft({ configs }) {
  const known = configs.map((config) => config.secondsLeft).filter((one) => one !== null);
  return known.length > 0 ? Math.max(...known) : null;
}

/**
 * Files that wait are read or not yet, the kernel does not say which; better too little than that
 * all seems done.
 *
 * @param {Status} status
 * @param {boolean} isRunning
 */
function shareOfFiles({ state, files, filesWaiting }, isRunning) {
  return READ.has(state) ? 1 : share(files, files + filesWaiting, isRunning);
}

/**
 * @param {number} done
 * @param {number} all
 * @param {boolean} isRunning with nothing found yet, work that runs is at its beginning
 */
function share(done, all, isRunning) {
  if (all <= 0) return isRunning ? 0 : 1;
  return Math.min(1, Math.max(0, done / all));
}

/**
 * @param {number[]} values
 * @param {number} otherwise
 */
function mean(values, otherwise) {
  return values.length > 0 ? values.reduce((sum, one) => sum + one, 0) / values.length : otherwise;
}
