/** What the index takes: disk, and the memory of the kernel that all windows share. */

import { formatBytes } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { kernel } from '../../common/kernel.js';
import { html, nothing } from '../../common/lit.js';

export class ResourcesCard {
  /** @type {{ index: number, vectors: number, memory: number } | null} */
  #figures = null;

  /**
   * @param {string} repoName
   * @param {() => void} changed
   */
  constructor(repoName, changed) {
    this.repoName = repoName;
    this.changed = changed;
  }

  async load() {
    try {
      const [{ indexes, sharedVectorsBytes }, { memoryBytes }] = await Promise.all([
        kernel.getIndexes(),
        kernel.getKernelStatus(),
      ]);
      const mine = indexes.find(({ repoName }) => repoName === this.repoName);
      this.#figures = {
        index: mine?.sizeBytes ?? 0,
        vectors: sharedVectorsBytes,
        memory: memoryBytes,
      };
    } catch {
      this.#figures = null; // the banner says what is wrong with the kernel
    }
    this.changed();
  }

  template() {
    if (!this.#figures) return nothing;
    const { index, vectors, memory } = this.#figures;
    const rows = /** @type {const} */ ([
      ['index', index],
      ['vectors', vectors],
      ['memory', memory],
    ]);
    return html`<section class="card index-card" aria-labelledby="resources-title">
      <h2 id="resources-title">${t('resources.title')}</h2>
      <dl class="resources">
        ${rows.map(
          ([name, bytes]) =>
            html`<div>
              <dt>${t(`resources.${name}`)}</dt>
              <dd>${formatBytes(bytes)}</dd>
            </div>`,
        )}
      </dl>
    </section>`;
  }
}
