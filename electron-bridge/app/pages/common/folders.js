/** Folders as people write them: pure functions. */

/**
 * The folder's own name.
 *
 * @param {string} folder
 */
export function folderName(folder) {
  const separator = isWindowsPath(folder) ? /[\\/]+/ : /\/+/;
  return tidyPath(folder).split(separator).filter(Boolean).at(-1) ?? '';
}

/**
 * Remove the spaces and quotes of a pasted path.
 *
 * @param {string} folder
 */
export function tidyPath(folder) {
  return folder.trim().replace(/^(["'])(.*)\1$/, '$2');
}

/**
 * @param {string} folder
 * @returns {'empty' | 'relative' | null} a problem that the page can find by itself
 */
export function findFolderProblem(folder) {
  const path = tidyPath(folder);
  if (path === '') return 'empty';
  return path.startsWith('/') || isWindowsPath(path) ? null : 'relative';
}

/** @param {string} folder */
function isWindowsPath(folder) {
  return /^([a-z]:[\\/]|\\\\)/i.test(tidyPath(folder));
}
