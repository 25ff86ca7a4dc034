/** Which repositories are shown, and in which order: pure functions. */

/** @typedef {{ name: string, path: string }} Repo */
/** @typedef {import('../../../types/protocol.d.ts').IndexEntry} IndexEntry */

/** With so many repositories a filter is shown. */
export const MIN_REPOS_FOR_FILTER = 9;

/**
 * Last used first; those never used after them, newest registration first.
 *
 * @param {Repo[]} repos in the order of registration
 * @param {Record<string, number>} times
 */
export function sortByRecent(repos, times) {
  const opened = repos.filter(({ name }) => times[name]);
  const others = repos.filter(({ name }) => !times[name]);
  return [...opened.sort((a, b) => times[b.name] - times[a.name]), ...others.reverse()];
}

/**
 * When each repository was used: opened here, or by any program.
 *
 * @param {Record<string, number>} opened
 * @param {readonly IndexEntry[]} indexes
 * @returns {Record<string, number>}
 */
export function usedTimes(opened, indexes) {
  const times = { ...opened };
  for (const { repoName, usedAt } of indexes) {
    if (repoName) times[repoName] = Math.max(usedAt, times[repoName] ?? 0);
  }
  return times;
}

/**
 * Those with every word of the filter in name or folder.
 *
 * @param {Repo[]} repos
 * @param {string} filter
 */
export function filterRepos(repos, filter) {
  const wanted = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return repos.filter(({ name, path }) => {
    const text = `${name} ${path}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
