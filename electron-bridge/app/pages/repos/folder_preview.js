/** What would be indexed of a folder, and what that takes. */

import { findFolderProblem, tidyPath } from '../common/folders.js';
import { formatBytes, formatCount, formatDuration } from '../common/format.js';
import { t } from '../common/i18n.js';
import { kernel } from '../common/kernel.js';
import { html, nothing } from '../common/lit.js';
import { LatestOnly } from '../repository/search/latest_only.js';

/** @typedef {import('../../../types/protocol.d.ts').PreviewFolderReply} PreviewReply */

const DELAY_MS = 350;
const SHOWN_LANGUAGES = 6;

export class FolderPreview {
  /** @type {PreviewReply | null} */
  #found = null;
  /** @type {LatestOnly<string, PreviewReply>} */
  #latest;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#latest = new LatestOnly((path) => kernel.previewFolder({ path }), {
      answered: (found) => (this.#found = found),
      failed: () => (this.#found = null), // the form says so when it is sent
      changed,
    });
  }

  /** @param {string} folder */
  ask(folder) {
    this.#found = null;
    if (findFolderProblem(folder)) this.#latest.cancel();
    else this.#latest.schedule(tidyPath(folder), DELAY_MS);
  }

  template() {
    const found = this.#found;
    if (!found) {
      return html`<p class="folder-preview faint" role="status">
        ${this.#latest.isUnderWay ? t('preview.counting') : nothing}
      </p>`;
    }
    const skipped = Object.values(found.skipped).reduce((sum, one) => sum + one, 0);
    const values = {
      count: found.files,
      size: formatBytes(found.bytes),
      time: formatDuration(found.seconds),
      disk: formatBytes(found.indexBytes),
    };
    return html`<section class="folder-preview" aria-label=${t('preview.label')} role="status">
      <p class="folder-preview-main">
        ${t(found.isComplete ? 'preview.files' : 'preview.atLeast', values)}
      </p>
      ${found.files > 0 ? html`<p class="muted">${t('preview.takes', values)}</p>` : nothing}
      <p class="faint">
        ${found.languages
          .slice(0, SHOWN_LANGUAGES)
          .map(({ language, files }) => `${language} ${formatCount(files)}`)
          .join(' · ')}
        ${skipped > 0 ? html`<br />${t('preview.skipped', { count: skipped })}` : nothing}
      </p>
    </section>`;
  }
}
