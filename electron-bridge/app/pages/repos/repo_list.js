/** The list itself, as templates; keys move through it. */

import { formatAgo, formatBytes, formatTime } from '../common/format.js';
import { opensPage, pageAddress } from '../common/navigation.js';
import { t, tParts } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { html, nothing, repeat } from '../common/lit.js';
import { toastFailure } from '../common/toast.js';

/** @typedef {import('./repo_order.js').Repo} Repo */

/**
 * @param {Repo[]} repos
 * @param {{
 *   times: Record<string, number>,
 *   indexes: Map<string, import('./repo_order.js').IndexEntry>,
 *   remove: (repo: Repo) => void,
 *   canFilter: boolean,
 * }} more
 */
export function repoList(repos, { times, indexes, remove, canFilter }) {
  return html`<ul
      class="card repo-list"
      aria-label=${t('repos.list')}
      @keydown=${(/** @type {KeyboardEvent} */ event) => moveFocus(event, repos, remove)}
    >
      ${repeat(
        repos,
        ({ name }) => name,
        (repo) => repoRow(repo, times[repo.name], indexes.get(repo.name), remove),
      )}
    </ul>
    <p class="repo-keys faint" aria-hidden="true">
      ${tParts('repos.keys', {
        up: html`<kbd class="kbd">↑</kbd>`,
        down: html`<kbd class="kbd">↓</kbd>`,
        enter: html`<kbd class="kbd">Enter</kbd>`,
        delete: html`<kbd class="kbd">Del</kbd>`,
      })}${
        canFilter
          ? tParts('repos.keys.filter', { filter: html`<kbd class="kbd">/</kbd>` })
          : nothing
      }
    </p>`;
}

/**
 * @param {Repo} repo
 * @param {number | undefined} time
 * @param {import('./repo_order.js').IndexEntry | undefined} index
 * @param {(repo: Repo) => void} remove
 */
function repoRow(repo, time, index, remove) {
  const { name, path } = repo;
  return html`<li class="repo-row">
    <a
      class="repo-link"
      href=${pageAddress('repository', { repoName: name })}
      @click=${opensPage('repository', { repoName: name, failed: toastFailure })}
    >
      <span class="repo-name">${name}</span>
      <span class="repo-path" title=${path}>${path}</span>
    </a>
    ${index ? indexFacts(index) : nothing}
    <span class="repo-time" title=${time ? formatTime(time) : ''}>
      ${time ? t('repos.opened.at', { ago: formatAgo(time) }) : t('repos.opened.never')}
    </span>
    <button
      class="button small quiet icon"
      type="button"
      aria-label=${t('repos.delete.label', { name })}
      title=${t('repos.delete.label', { name })}
      @click=${() => remove(repo)}
    >
      ${icon('trash')}
    </button>
  </li>`;
}

/** @param {import('./repo_order.js').IndexEntry} index */
function indexFacts({ files, sizeBytes, gone, openIn }) {
  if (gone) return html`<span class="badge bad">${t('repos.gone')}</span>`;
  if (files === 0) return html`<span class="repo-size">${t('repos.notIndexed')}</span>`;
  const text = t('repos.size', { count: files, size: formatBytes(sizeBytes) });
  return html`<span class="repo-size">
    ${openIn.length > 0 ? html`<span class="badge good">${t('repos.followed')}</span>` : nothing}
    ${text}
  </span>`;
}

/**
 * @param {KeyboardEvent} event
 * @param {Repo[]} repos
 * @param {(repo: Repo) => void} remove
 */
function moveFocus(event, repos, remove) {
  const list = /** @type {HTMLElement} */ (event.currentTarget);
  const links = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('.repo-link')]);
  const row = /** @type {HTMLElement} */ (event.target).closest('.repo-row');
  const at = links.findIndex((link) => row?.contains(link));
  const target = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: links.length - 1 }[event.key];
  if (target !== undefined) {
    event.preventDefault();
    links[Math.max(0, Math.min(target, links.length - 1))]?.focus();
  } else if (event.key === 'Delete' && at >= 0) {
    event.preventDefault();
    remove(repos[at]);
  }
}
