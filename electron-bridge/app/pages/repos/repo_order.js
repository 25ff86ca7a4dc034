/** Which repositories are shown, and in which order: pure functions. */

/** @typedef {{ name: string, path: string }} Repo */

/** With so many repositories a filter is shown. */
export const MIN_REPOS_FOR_FILTER = 9;

/**
 * Last opened first; those never opened after them, newest registration first.
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
