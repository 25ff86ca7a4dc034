/** Places inside settings, named as the kernel names them: `conversationSettings.generationModel[0].url`. */

/**
 * @param {unknown} root
 * @param {string} path
 * @returns {any}
 */
export function valueAt(root, path) {
  return steps(path).reduce((value, step) => /** @type {any} */ (value)?.[step], root);
}

/**
 * @param {object} root changed in place
 * @param {string} path
 * @param {unknown} value
 */
export function setAt(root, path, value) {
  const all = steps(path);
  const last = all[all.length - 1];
  const holder = all.slice(0, -1).reduce((inner, step) => /** @type {any} */ (inner)[step], root);
  /** @type {any} */ (holder)[last] = value;
}

/**
 * @param {string} path
 * @returns {(string | number)[]}
 */
function steps(path) {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([name, index]) =>
    index === undefined ? name : Number(index),
  );
}
