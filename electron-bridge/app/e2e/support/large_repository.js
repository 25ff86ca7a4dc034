/** A repository in which one word is found ten thousand times. */

export const CHUNKS = 10_500;
const PER_FILE = 105;
const LINES = 24;

/** @returns {Record<string, string>} path -> content */
export function largeRepository() {
  /** @type {Record<string, string>} */
  const files = {};
  for (let file = 0; file < CHUNKS / PER_FILE; file += 1) {
    const functions = Array.from({ length: PER_FILE }, (_, number) => oneFunction(file, number));
    files[`package_${file % 10}/module_${file}.py`] = functions.join('\n\n');
  }
  return files;
}

/**
 * As long as a chunk may be, so that none is joined with its neighbour.
 *
 * @param {number} file
 * @param {number} number
 */
function oneFunction(file, number) {
  const lines = Array.from(
    { length: LINES },
    (_, line) => `    value_${line} = compute(${file}, ${number}, ${line})`,
  );
  return [`def greeting_${file}_${number}(name):`, ...lines, '    return name', ''].join('\n');
}
