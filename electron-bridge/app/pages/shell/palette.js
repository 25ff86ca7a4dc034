/** The command palette: repositories, files, symbols, searches and actions behind one key. */

import { openDialog } from '../common/dialog.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { kernel } from '../common/kernel.js';
import { html, live, nothing } from '../common/lit.js';
import { currentPlace, navigate } from '../common/navigation.js';
import { openedText } from '../common/page_address.js';
import { LatestOnly } from '../repository/search/latest_only.js';
import { recentQueries, savedQueries } from '../repository/search/recent_queries.js';
import { listActions } from './actions.js';
import { fittingItems, groupedItems } from './palette_items.js';

/** @typedef {import('./palette_items.js').PaletteItem} PaletteItem */
/** @typedef {import('../../../types/protocol.d.ts').FindNamesReply} FoundNames */

const NAMES_LIMIT = 8;
/** @type {Record<PaletteItem['kind'], import('../common/icons.js').IconName>} */
const ICONS = {
  action: 'play',
  repository: 'folder',
  file: 'file',
  symbol: 'key',
  query: 'search',
};

let isOpen = false;

/** Open the palette, unless it is open. */
export async function openPalette() {
  if (isOpen) return;
  isOpen = true;
  const palette = new Palette();
  const chosen = await openDialog({
    title: t('palette.title'),
    wide: true,
    body: (handle) => palette.template(handle),
  });
  palette.end();
  isOpen = false;
  chosen?.run();
}

/** @typedef {import('../common/dialog.js').DialogHandle<PaletteItem>} Handle */

class Palette {
  text = '';
  active = 0;
  /** @type {PaletteItem[]} */
  #known = [];
  /** @type {PaletteItem[]} */
  #named = [];
  /** @type {Handle | null} */
  #handle = null;
  /** @type {LatestOnly<string, FoundNames>} */
  #names;

  constructor() {
    const { page, repoName = '' } = currentPlace();
    this.repoName = page === 'repository' ? repoName : '';
    this.#names = new LatestOnly((query) => kernel.findNames({ query, limit: NAMES_LIMIT }), {
      answered: (found) => this.#setNames(found),
      failed: () => this.#setNames({ files: [], symbols: [] }), // the page says what is wrong
    });
    this.#known = [...this.#queries(), ...listActions(this.repoName)];
    this.#loadRepositories();
  }

  end() {
    this.#names.cancel();
    this.#handle = null;
  }

  /** @param {Handle} handle */
  template(handle) {
    this.#handle = handle;
    const items = this.#items();
    this.active = Math.max(0, Math.min(this.active, items.length - 1));
    return html`<div
      class="palette"
      @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event, items)}
    >
      <input
        class="input palette-input"
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck="false"
        autofocus
        aria-label=${t('palette.label')}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant=${items.length > 0 ? `palette-${this.active}` : nothing}
        placeholder=${t(this.repoName ? 'palette.placeholder' : 'palette.placeholder.repos')}
        .value=${live(this.text)}
        @input=${(/** @type {any} */ { target }) => this.#write(target.value)}
      />
      <ul class="palette-list" id="palette-list" role="listbox" aria-label=${t('palette.title')}>
        ${items.map((item, index) => this.#row(item, index))}
      </ul>
      ${items.length === 0 ? html`<p class="muted">${t(this.repoName ? 'palette.none' : 'palette.none.repos')}</p>` : nothing}
    </div>`;
  }

  /**
   * @param {PaletteItem} item
   * @param {number} index
   */
  #row(item, index) {
    const isActive = index === this.active;
    return html`<li
      id="palette-${index}"
      class=${isActive ? 'palette-item active' : 'palette-item'}
      role="option"
      aria-selected=${String(isActive)}
      @click=${() => this.#handle?.close(item)}
    >
      ${icon(ICONS[item.kind])}
      <span class="palette-label">${item.label}</span>
      <span class="palette-detail">${item.detail ?? ''}</span>
      <span class="palette-kind">${t(`palette.kind.${item.kind}`)}</span>
    </li>`;
  }

  /** @returns {PaletteItem[]} */
  #items() {
    const text = this.text.trim();
    const fitting = groupedItems([
      ...fittingItems(this.#known, text),
      ...(text ? this.#named : []),
    ]);
    const { repoName } = this;
    if (!text || !repoName) return fitting;
    /** @type {PaletteItem} */
    const search = {
      kind: 'query',
      label: t('palette.search', { text }),
      run: () => navigate({ page: 'repository', repoName, part: 'search', query: text }),
    };
    return [...fitting, search];
  }

  /** @param {string} text */
  #write(text) {
    this.text = text;
    this.active = 0;
    if (this.repoName && text.trim()) this.#names.schedule(text.trim());
    this.#handle?.draw();
  }

  /**
   * @param {KeyboardEvent} event
   * @param {PaletteItem[]} items
   */
  #key(event, items) {
    if (event.isComposing) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (steps !== undefined) {
      this.active = (this.active + steps + items.length) % Math.max(1, items.length);
      this.#handle?.draw();
      document.getElementById(`palette-${this.active}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && items.length > 0) {
      this.#handle?.close(items[this.active]);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** @param {FoundNames} found */
  #setNames({ files, symbols }) {
    const open = (/** @type {string} */ opened) => () =>
      navigate({ ...currentPlace(), page: 'repository', part: 'search', opened });
    this.#named = [
      ...symbols.map(({ name, filePath, line }) => ({
        kind: /** @type {const} */ ('symbol'),
        label: name,
        detail: `${filePath}:${line + 1}`,
        run: open(openedText({ filePath, beginLine: line, endLine: line + 1 })),
      })),
      ...files.map(({ filePath }) => ({
        kind: /** @type {const} */ ('file'),
        label: filePath.slice(filePath.lastIndexOf('/') + 1),
        detail: filePath,
        run: open(filePath),
      })),
    ];
    this.#handle?.draw();
  }

  async #loadRepositories() {
    const { repoList } = await kernel.getRepos().catch(() => ({ repoList: [] }));
    const items = repoList
      .filter(({ name }) => name !== this.repoName)
      .map(({ name, path }) => ({
        kind: /** @type {const} */ ('repository'),
        label: name,
        detail: path,
        run: () => navigate({ page: 'repository', repoName: name }),
      }));
    this.#known = [...items, ...this.#known];
    this.#handle?.draw();
  }

  /** @returns {PaletteItem[]} */
  #queries() {
    const { repoName } = this;
    if (!repoName) return [];
    return [...new Set([...savedQueries(repoName), ...recentQueries(repoName)])].map((query) => ({
      kind: 'query',
      label: query,
      run: () => navigate({ page: 'repository', repoName, part: 'search', query }),
    }));
  }
}
