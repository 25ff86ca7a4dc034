/**
 * Where the kernel keeps its data: the same folder for desktop, browser, terminal and MCP.
 *
 * As kernel/codekernel/storage/user_data.py has it; a test compares both.
 */

import os from 'node:os';
import path from 'node:path';

/** In this order; the second one is that of PocketRAG's front end. */
const VARIABLES = ['CODEKERNEL_USER_DATA', 'POCKETRAG_USERDATA_PATH'];
const NAME = 'codekernel';

/**
 * @param {{
 *   environ?: Record<string, string | undefined>,
 *   platform?: NodeJS.Platform,
 *   home?: string,
 * }} [options]
 */
export function locateUserData({
  environ = process.env,
  platform = process.platform,
  home = os.homedir(),
} = {}) {
  const given = VARIABLES.map((name) => environ[name]).find(Boolean);
  if (given) return path.resolve(given);
  const { join, isAbsolute } = platform === 'win32' ? path.win32 : path.posix;
  if (platform === 'win32') {
    return join(environ.LOCALAPPDATA || join(home, 'AppData', 'Local'), NAME);
  }
  const wanted = environ.XDG_DATA_HOME ?? '';
  if (isAbsolute(wanted)) return join(wanted, NAME);
  const usual = platform === 'darwin' ? ['Library', 'Application Support'] : ['.local', 'share'];
  return join(home, ...usual, NAME);
}
