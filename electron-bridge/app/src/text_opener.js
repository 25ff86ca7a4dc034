/**
 * The system's own editor for text, when no editor is known.
 *
 * Not the system's opener for that file: it would run a script, a .bat or a .jar that somebody has
 * put into the repository.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * @param {string} file
 * @param {{ platform: NodeJS.Platform, find: import('./editors.js').ProgramFinder }} machine
 * @returns {Promise<{ editor: string, program: string, args: string[] } | null>}
 */
export async function findTextOpener(file, { platform, find }) {
  if (platform === 'darwin') {
    return { editor: 'open -t', program: '/usr/bin/open', args: ['-t', file] };
  }
  if (platform === 'win32') return { editor: 'notepad', program: 'notepad.exe', args: [file] };
  const [query, program] = [find('xdg-mime'), find('gtk-launch')];
  if (!query || !program) return null;
  const entry = await queryTextHandler(query);
  if (!entry) return null;
  return { editor: entry.replace(/\.desktop$/, ''), program, args: [entry, file] };
}

/** @param {string} query */
async function queryTextHandler(query) {
  try {
    const { stdout } = await promisify(execFile)(query, ['query', 'default', 'text/plain']);
    const entry = stdout.trim();
    return /^[\w.-]+\.desktop$/.test(entry) ? entry : null;
  } catch {
    return null;
  }
}
