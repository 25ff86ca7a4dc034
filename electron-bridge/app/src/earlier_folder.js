/**
 * What an earlier version of this app kept in Electron's own folder: where its windows were, and
 * what its pages remember. The kernel takes over the rest (runtime/user_data_merge.py).
 */

import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';

const KEPT = ['window-state.json', path.join('browser', 'Local Storage')];

/**
 * Copy what is not there yet, whole or not at all. Never throws: an app without it starts as well.
 *
 * @param {string} earlier
 * @param {string} userData
 * @param {(error: unknown) => void} [onError]
 */
export function takeOverWindows(earlier, userData, onError = () => {}) {
  if (path.resolve(earlier) === path.resolve(userData)) return;
  for (const name of KEPT) {
    const [from, to] = [path.join(earlier, name), path.join(userData, name)];
    const unfinished = `${to}.unfinished`;
    try {
      if (existsSync(to) || !existsSync(from)) continue;
      mkdirSync(path.dirname(to), { recursive: true, mode: 0o700 });
      rmSync(unfinished, { recursive: true, force: true });
      cpSync(from, unfinished, { recursive: true });
      renameSync(unfinished, to);
    } catch (error) {
      onError(error);
    }
  }
}
