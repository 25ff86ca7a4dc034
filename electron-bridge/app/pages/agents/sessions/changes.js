/** The files that have changed, as git or the agent's own edits tell them. Pure. */

/**
 * @typedef {object} ChangedFile
 * @property {string} path
 * @property {'changed' | 'created' | 'deleted'} kind
 * @property {boolean} isUntracked git has no diff of it
 * @property {boolean} isStaged
 * @property {number | null} added lines
 * @property {number | null} removed
 * @property {string} [diff] if it is known without asking
 */

/**
 * @param {string} status `git status --porcelain=v2`
 * @param {string} numstat of what is not staged, and of what is
 * @returns {ChangedFile[]}
 */
export function readGitStatus(status, numstat) {
  const counts = readCounts(numstat);
  return status.split('\n').flatMap((line) => {
    const file = readStatusLine(line);
    if (!file) return [];
    const { added = null, removed = null } = counts.get(file.path) ?? {};
    return [{ ...file, added, removed }];
  });
}

/**
 * What the agent edited, for a folder without git.
 *
 * @param {readonly import('./transcript.js').Turn[]} turns
 * @returns {ChangedFile[]}
 */
export function collectEdits(turns) {
  /** @type {Map<string, string[]>} */
  const diffs = new Map();
  for (const { run } of turns) {
    for (const item of run.items) {
      if (item.kind !== 'tool' || !item.diff) continue;
      const path = String(item.input.path ?? item.input.file_path ?? item.name);
      diffs.set(path, [...(diffs.get(path) ?? []), item.diff]);
    }
  }
  return [...diffs].map(([path, all]) => {
    const diff = all.map(hunksOf).join('\n');
    const lines = diff.split('\n');
    const count = (/** @type {string} */ sign) =>
      lines.filter((line) => line.startsWith(sign)).length;
    const isUntracked = false;
    const [added, removed] = [count('+'), count('-')];
    return { path, kind: 'changed', isUntracked, isStaged: false, added, removed, diff };
  });
}

/**
 * A diff without the lines before its first hunk.
 *
 * @param {string} diff
 */
export function hunksOf(diff) {
  const at = diff.search(/^@@/m);
  return (at < 0 ? diff : diff.slice(at)).replace(/\n$/, '');
}

/**
 * @param {string} text of a new file
 */
export function diffOfNewFile(text) {
  const lines = text.replace(/\n$/, '').split('\n');
  return [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`)].join('\n');
}

/**
 * @param {string} content as the hub sends a file
 */
export function decodeBase64(content) {
  const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

/** @param {string} line */
function readStatusLine(line) {
  if (line.startsWith('? ')) {
    const kind = /** @type {const} */ ('created');
    return { path: line.slice(2), kind, isUntracked: true, isStaged: false };
  }
  const fields = line.split(' ');
  const skipped = { 1: 8, 2: 9, u: 10 }[fields[0]];
  if (!skipped) return null;
  const [path] = fields.slice(skipped).join(' ').split('\t');
  const state = fields[1];
  const isStaged = state[1] === '.';
  /** @type {ChangedFile['kind']} */
  const kind = state.includes('D') ? 'deleted' : state.includes('A') ? 'created' : 'changed';
  return { path, kind, isUntracked: false, isStaged };
}

/** @param {string} numstat */
function readCounts(numstat) {
  /** @type {Map<string, { added: number, removed: number }>} */
  const counts = new Map();
  for (const line of numstat.split('\n')) {
    const [added, removed, path] = line.split('\t');
    if (!path) continue;
    const before = counts.get(path) ?? { added: 0, removed: 0 };
    counts.set(path, {
      added: before.added + (Number(added) || 0),
      removed: before.removed + (Number(removed) || 0),
    });
  }
  return counts;
}
