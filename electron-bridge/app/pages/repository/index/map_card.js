/** What is indexed, as a map of folders and files that one can click into, and by language. */

import { oneLine } from '../../common/failures.js';
import { formatBytes, formatCount, formatPercent } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { kernel } from '../../common/kernel.js';
import { html, nothing } from '../../common/lit.js';
import { layOut } from './treemap.js';

/** @typedef {import('../../../../types/protocol.d.ts').GetIndexMapReply} IndexMap */
/** @typedef {import('../../../../types/protocol.d.ts').IndexMapEntry} Entry */

/** Per cent of the map's width and height. */
const WHOLE = Object.freeze({ left: 0, top: 0, width: 100, height: 100 });
/** Smaller ones could neither be read nor hit. */
const MAX_TILES = 60;
const MAX_LANGUAGES = 12;
const CHART_COLOURS = 6;

export class MapCard {
  folder = '';
  /** @type {IndexMap | null} */
  #map = null;
  /** @type {unknown} */
  #failure = null;
  /** Of the whole repository; a folder shows them in the same colours. @type {string[]} */
  #languages = [];

  /**
   * @param {{ changed: () => void, entered: (folder: string) => void, openFile: (path: string) => void }} callbacks
   */
  constructor(callbacks) {
    this.callbacks = callbacks;
  }

  /** @param {string} [folder] */
  async load(folder = this.folder) {
    this.folder = folder;
    try {
      const map = await kernel.getIndexMap({ folder });
      if (folder !== this.folder) return;
      this.#map = map;
      this.#failure = null;
      if (!folder || this.#languages.length === 0) {
        this.#languages = map.languages.map(({ language }) => language);
      }
    } catch (failure) {
      this.#failure = failure;
    }
    this.callbacks.changed();
  }

  template() {
    if (this.#failure) return html`<p class="field-problem">${oneLine(this.#failure)}</p>`;
    if (!this.#map) return nothing;
    const { entries, languages } = this.#map;
    return html`<section class="card index-card" aria-labelledby="map-title">
      <h2 id="map-title">${t('map.title')}</h2>
      ${this.#path()} ${this.#tiles(entries)}
      <h3>${t('map.languages')}</h3>
      ${this.#languageTable(languages)}
    </section>`;
  }

  #path() {
    const parts = this.folder ? this.folder.split('/') : [];
    return html`<nav class="map-path" aria-label=${t('map.path')}>
      <button class="button small quiet" type="button" @click=${() => this.#enter('')}>
        ${t('map.root')}
      </button>
      ${parts.map(
        (part, index) =>
          html`/
            <button
              class="button small quiet"
              type="button"
              @click=${() => this.#enter(parts.slice(0, index + 1).join('/'))}
            >
              ${part}
            </button>`,
      )}
    </nav>`;
  }

  /** @param {readonly Entry[]} entries */
  #tiles(entries) {
    const shown = entries.filter(({ bytes }) => bytes > 0).slice(0, MAX_TILES);
    const areas = layOut(
      shown.map(({ bytes }) => bytes),
      WHOLE,
    );
    const skipped = entries.filter((entry) => entry.files === 0 && entry.skipped > 0);
    return html`<div class="map" role="list" aria-label=${t('map.title')}>
        ${shown.map((entry, index) => this.#tile(entry, areas[index]))}
      </div>
      ${
        skipped.length > 0
          ? html`<p class="faint map-skipped">
              ${t('map.skippedOnly')}
              ${skipped.slice(0, MAX_LANGUAGES).map(({ name }) => html`<code>${name}</code> `)}
            </p>`
          : nothing
      }`;
  }

  /**
   * @param {Entry} entry
   * @param {import('./treemap.js').Area} area
   */
  #tile(entry, { left, top, width, height }) {
    const { name, isFolder, files, bytes, language, skipped } = entry;
    const path = this.folder ? `${this.folder}/${name}` : name;
    const facts = t('map.tile', { count: files, size: formatBytes(bytes), language });
    const label = skipped > 0 ? `${facts}, ${t('map.skipped', { count: skipped })}` : facts;
    return html`<div
      class="map-place"
      role="listitem"
      .style=${`left:${left}%;top:${top}%;width:${width}%;height:${height}%`}
    >
      <button
        class="map-tile colour-${this.#colourOf(language)}"
        type="button"
        title="${path}: ${label}"
        @click=${() => (isFolder ? this.#enter(path) : this.callbacks.openFile(path))}
      >
        <span class="map-name">${name}${isFolder ? '/' : ''}</span>
        <span class="map-facts">${formatBytes(bytes)}</span>
        <span class="visually-hidden">${label}</span>
      </button>
    </div>`;
  }

  /** @param {readonly { language: string, files: number, bytes: number }[]} languages */
  #languageTable(languages) {
    const total = languages.reduce((sum, { bytes }) => sum + bytes, 0) || 1;
    return html`<div class="table-scroll">
      <table class="table map-languages">
        <thead>
          <tr>
            <th scope="col">${t('map.language')}</th>
            <th scope="col">${t('map.files')}</th>
            <th scope="col">${t('map.size')}</th>
            <th scope="col">${t('map.share')}</th>
          </tr>
        </thead>
        <tbody>
          ${languages.slice(0, MAX_LANGUAGES).map(
            ({ language, files, bytes }) =>
              html`<tr>
                <th scope="row">
                  <span
                    class="map-key colour-${this.#colourOf(language)}"
                    aria-hidden="true"
                  ></span>
                  ${language}
                </th>
                <td>${formatCount(files)}</td>
                <td>${formatBytes(bytes)}</td>
                <td>${formatPercent(bytes / total)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }

  /** @param {string} folder */
  #enter(folder) {
    this.load(folder);
    this.callbacks.entered(folder);
  }

  /** @param {string} language */
  #colourOf(language) {
    const place = this.#languages.indexOf(language);
    return place >= 0 && place < CHART_COLOURS ? place + 1 : 'other';
  }
}
