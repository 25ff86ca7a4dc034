/** The page of repositories: loads the list, adds to it, deletes from it. */

import { confirmDialog } from '../common/dialog.js';
import { makeRenderer } from '../common/renderer.js';
import { navigate, noteAddress } from '../common/navigation.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { kernel } from '../common/kernel.js';
import { onKernelState } from '../common/kernel_state.js';
import { html, live, nothing } from '../common/lit.js';
import { forgetOpened, onRecentChange, openedTimes } from '../common/recent.js';
import { emptyState, failureState, loadingState } from '../common/states.js';
import { toast, toastFailure } from '../common/toast.js';
import { createRepository } from './create_dialog.js';
import { onDroppedFolder } from './dropped_folder.js';
import { repoList } from './repo_list.js';
import { MIN_REPOS_FOR_FILTER, filterRepos, sortByRecent, usedTimes } from './repo_order.js';

/** @typedef {import('./repo_order.js').Repo} Repo */
/** @typedef {import('./repo_order.js').IndexEntry} IndexEntry */

/**
 * @param {HTMLElement} main
 * @returns {import('../shell/main.js').MountedPage}
 */
export function mount(main) {
  let isShown = false;
  /** @type {{ repos: Repo[] | null, indexes: IndexEntry[], failure: unknown, filter: string }} */
  const state = { repos: null, indexes: [], failure: null, filter: '' };

  const draw = makeRenderer(main, page);

  function page() {
    return html`<div class="repos-head spread">
        <h1>${t('repos.title')}</h1>
        ${state.repos?.length ? addButton() : nothing}
      </div>
      ${state.failure ? failureState(state.failure, { retry: load }) : nothing} ${content()}`;
  }

  function content() {
    const { repos, filter } = state;
    if (!repos) return state.failure ? nothing : loadingState(t('repos.loading'));
    if (repos.length === 0) {
      return emptyState({
        title: t('repos.empty.title'),
        text: t('repos.empty.text'),
        action: addButton(),
      });
    }
    const times = usedTimes(openedTimes(), state.indexes);
    const indexes = new Map(state.indexes.map((index) => [index.repoName, index]));
    const canFilter = repos.length >= MIN_REPOS_FOR_FILTER;
    const shown = canFilter
      ? filterRepos(sortByRecent(repos, times), filter)
      : sortByRecent(repos, times);
    return html`${canFilter ? filterField(repos.length) : nothing}
    ${shown.length ? repoList(shown, { times, indexes, remove, canFilter }) : noMatchNotice()}`;
  }

  function addButton() {
    return html`<button id="add-repo" class="button primary" type="button" @click=${() => add()}>
      ${icon('plus')} ${t('repos.add')}
    </button>`;
  }

  /** @param {number} count */
  function filterField(count) {
    return html`<div class="repos-filter row">
      <input
        id="filter"
        class="input"
        type="search"
        autocomplete="off"
        spellcheck="false"
        aria-label=${t('repos.filter')}
        placeholder=${t('repos.filter')}
        .value=${live(state.filter)}
        @input=${(/** @type {any} */ { target }) => filterBy(target.value)}
        @keydown=${leaveFilter}
      />
      <span class="faint">${t('repos.count', { count })}</span>
    </div>`;
  }

  function noMatchNotice() {
    return emptyState({
      title: t('repos.filter.none', { filter: state.filter }),
      action: html`<button class="button" type="button" @click=${() => filterBy('')}>
        ${t('repos.filter.clear')}
      </button>`,
    });
  }

  /** @param {string} filter */
  function filterBy(filter) {
    state.filter = filter;
    draw();
  }

  /** @param {KeyboardEvent} event */
  function leaveFilter(event) {
    const first = /** @type {HTMLElement | null} */ (main.querySelector('.repo-link'));
    if (event.key === 'Escape' && state.filter) filterBy('');
    else if (event.key === 'ArrowDown' && first) first.focus();
    else if (event.key === 'Enter' && first && state.filter) first.click();
    else return;
    event.preventDefault();
  }

  async function load() {
    try {
      state.repos = (await kernel.getRepos()).repoList;
      state.failure = null;
      draw();
      state.indexes = (await kernel.getIndexes()).indexes;
    } catch (failure) {
      state.failure = failure;
    }
    draw();
  }

  /** @param {{ folder?: string, note?: string }} [start] */
  async function add(start) {
    if (document.querySelector('dialog[open]')) return;
    const repoName = await createRepository(start);
    if (!repoName) return;
    if (!state.repos?.some(({ name }) => name === repoName)) {
      toast(t('create.done', { name: repoName }), { kind: 'success' });
    }
    await load();
    navigate({ page: 'repository', repoName });
  }

  /** @param {Repo} repo */
  async function remove({ name, path }) {
    const isMeant = await confirmDialog({
      title: t('delete.title', { name }),
      text: html`<p>${t('delete.text')}</p>
        <p>${t('delete.folder')}<br /><code>${path}</code></p>`,
      confirm: t('delete.confirm'),
      danger: true,
    });
    if (!isMeant) return;
    const before = [...main.querySelectorAll('.repo-name')].findIndex(
      (element) => element.textContent === name,
    );
    try {
      await kernel.deleteRepo({ repoName: name });
      forgetOpened(name);
      toast(t('delete.done', { name }), { kind: 'success' });
    } catch (failure) {
      toastFailure(failure);
    }
    await load();
    await focusNear(before);
  }

  /** @param {number} index of the row that is gone */
  async function focusNear(index) {
    await Promise.resolve(); // the list is drawn in the next microtask
    const links = /** @type {HTMLElement[]} */ ([...main.querySelectorAll('.repo-link')]);
    const near = links[Math.min(Math.max(index, 0), links.length - 1)];
    (near ?? document.getElementById('add-repo'))?.focus();
  }

  /** @param {KeyboardEvent} event */
  function toFilter(event) {
    const isTyping = /** @type {HTMLElement} */ (event.target).closest('input, dialog');
    const field = document.getElementById('filter');
    if (!isShown || event.key !== '/' || isTyping || !field) return;
    event.preventDefault();
    field.focus();
  }

  document.addEventListener('keydown', toFilter);
  kernel.on('reposChanged', load); // by another window, in a terminal, or by an agent
  globalThis.addEventListener('focus', () => isShown && load()); // by a kernel that is not shared
  globalThis.addEventListener('pageshow', (event) => event.persisted && load());
  onKernelState(({ state: now }) => now === 'running' && load());
  onRecentChange(draw);
  onDroppedFolder(({ path, name }) => {
    navigate({ page: 'repos' });
    add(path ? { folder: path } : { note: t('drop.noPath', { name }) });
  });
  load();

  return {
    show: ({ part }) => {
      if (!isShown) load();
      isShown = true;
      draw();
      if (part !== 'add') return;
      noteAddress({ page: 'repos' }, { replace: true });
      add();
    },
    hide: () => {
      isShown = false;
    },
    title: () => `${t('repos.title')} · codekernel`,
  };
}
