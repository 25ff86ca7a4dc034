/** What a page is called in an address. */

/** @typedef {'repos' | 'repository' | 'settings'} Page */

/**
 * @param {Page} page
 * @param {{ repoName?: string }} [which]
 */
export function pageAddress(page, { repoName } = {}) {
  return repoName ? `${page}.html?repo=${encodeURIComponent(repoName)}` : `${page}.html`;
}
