/**
 * What is shown, and its address: the page, the repository, the query, the place in a file, the
 * conversation. An address of an earlier version means what it meant. Pure.
 */

/** @typedef {'repos' | 'repository' | 'settings'} Page */

/**
 * @typedef {object} Place everything but `page` may be left out
 * @property {Page} page
 * @property {string} [repoName]
 * @property {string} [part] the tab of a repository, or the section of the settings
 * @property {string} [query] what is searched for
 * @property {readonly string[]} [scope] the repositories that are searched, if it is not this one
 * @property {string} [opened] a place in a file, as `path:10-20` with lines from 1
 * @property {number} [conversation]
 */

/** @type {readonly Page[]} */
export const PAGES = Object.freeze(['repos', 'repository', 'settings']);

const FILE = /\/(\w+)\.html$/;
const OPENED = /^(.+?)(?::(\d{1,9})(?:-(\d{1,9}))?)?$/s;

/**
 * @param {Page} page
 * @param {Omit<Place, 'page'>} [which]
 */
export function pageAddress(page, { repoName, part, query, scope, opened, conversation } = {}) {
  const within = (scope ?? []).map((name) => ['in', name]);
  const fields = { repo: repoName, q: query, at: opened, talk: conversation };
  const search = [...Object.entries(fields), ...within]
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `${page}.html${search.length ? `?${search.join('&')}` : ''}${part ? `#${part}` : ''}`;
}

/**
 * @param {{ pathname: string, search: string, hash: string }} address a URL, or `location`
 * @returns {Place} the repositories, if it is no page's address
 */
export function placeOf({ pathname, search, hash }) {
  const name = FILE.exec(pathname)?.[1];
  const page = PAGES.find((one) => one === name) ?? 'repos';
  const fields = new URLSearchParams(search);
  const conversation = Number(fields.get('talk'));
  /** @type {Place} */
  const place = { page };
  if (fields.get('repo')) place.repoName = String(fields.get('repo'));
  if (hash.length > 1) place.part = hash.slice(1);
  if (fields.get('q')) place.query = String(fields.get('q'));
  if (fields.has('in')) place.scope = fields.getAll('in');
  if (fields.get('at')) place.opened = String(fields.get('at'));
  if (Number.isSafeInteger(conversation) && conversation > 0) place.conversation = conversation;
  return place;
}

/**
 * @param {{ filePath: string, beginLine: number, endLine: number }} lines from 0, the end excluded
 */
export function openedText({ filePath, beginLine, endLine }) {
  return endLine > beginLine ? `${filePath}:${beginLine + 1}-${endLine}` : filePath;
}

/**
 * @param {string} text
 * @returns {{ filePath: string, beginLine: number, endLine: number } | null}
 */
export function parseOpened(text) {
  const [, filePath, from, to] = OPENED.exec(text) ?? [];
  if (!filePath) return null;
  const beginLine = from ? Math.max(0, Number(from) - 1) : 0;
  return { filePath, beginLine, endLine: to ? Math.max(beginLine, Number(to)) : beginLine };
}
