/** What the app is started for: a `codekernel://` link, a folder of the command line, or nothing. */

import { statSync } from 'node:fs';
import path from 'node:path';

import { placeOf } from '../pages/common/page_address.js';

const SCHEME = 'codekernel:';

/** @typedef {{ place: import('../pages/common/page_address.js').Place } | { folder: string }} StartRequest */

/**
 * @param {readonly string[]} words the command line after the program's name
 * @param {string} folder where it was written
 * @returns {StartRequest | null}
 */
export function findStartRequest(words, folder) {
  for (const word of words) {
    const place = findPlace(word);
    if (place) return { place };
  }
  const named = words.filter((word) => !word.startsWith('-'));
  const found = named.map((word) => path.resolve(folder, word)).find(isFolder);
  return found ? { folder: found } : null;
}

/**
 * The place that a link means: `codekernel://app/repository.html?repo=demo`, the address of a page.
 *
 * @param {string} link
 */
export function findPlace(link) {
  if (!link.startsWith(SCHEME) || !URL.canParse(link)) return null;
  return placeOf(new URL(link));
}

/** @param {string} file */
function isFolder(file) {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
