/** What the app is started for: a `codekernel://` link, a folder of the command line, or nothing. */

import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';

import { placeOf } from '../pages/common/page_address.js';

const SCHEME = 'codekernel:';
/** Of repositories with the same name, in as many places. */
const MAX_NAMES = 100;

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

/**
 * The repository of a folder, registered if it was not.
 *
 * @param {{ request(type: string, fields?: object): Promise<any> }} bridge
 * @param {string} folder
 * @returns {Promise<string>} its name
 */
export async function registerFolder(bridge, folder) {
  const wanted = realpathSync(folder);
  const { repoList } = await bridge.request('getRepos');
  const known = repoList.find((/** @type {{ path: string }} */ repo) => isSame(repo.path, wanted));
  if (known) return known.name;
  const name = path.basename(wanted);
  for (let number = 1; ; number += 1) {
    const repoName = number === 1 ? name : `${name}-${number}`;
    try {
      await bridge.request('createRepo', { repoName, path: wanted });
      return repoName;
    } catch (error) {
      const isTaken = /** @type {any} */ (error).code === 'REPO_NAME_EXIST';
      if (!isTaken || number === MAX_NAMES) throw error;
    }
  }
}

/** @param {string} file */
function isFolder(file) {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * @param {string} known
 * @param {string} wanted
 */
function isSame(known, wanted) {
  try {
    return realpathSync(known) === wanted;
  } catch {
    return false; // it is gone
  }
}
