/** The thin line in the header that says how far the index is, on every tab. */

import { formatPercent } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { isQuiet } from './progress.js';
import { shortLine, announcedLine } from './state_text.js';

/**
 * @param {import('./status_watch.js').StatusWatch} watch
 * @param {() => void} show the index tab
 */
export function statusLine(watch, show) {
  const { status, progress } = watch;
  const isTrouble = Boolean(status?.trouble) && status?.state !== 'read-only';
  const isBusy = status !== null && !isQuiet(status) && !isTrouble && watch.session.isPrepared;
  const share = progress?.overall ?? 0;
  return html`<span class="visually-hidden" role="status">${announcedLine(watch)}</span
    ><button
      class=${isTrouble ? 'index-line trouble' : 'index-line'}
      type="button"
      title=${status?.trouble || t('line.open')}
      @click=${show}
    >
      ${isTrouble ? icon('warning') : nothing}
      <span class="index-line-text">${shortLine(watch)}</span>
      ${
        isBusy
          ? html`<span
              class="progress index-line-progress"
              role="progressbar"
              aria-label=${t('line.progress')}
              aria-valuemin="0"
              aria-valuemax="100"
              aria-valuenow=${Math.floor(share * 100)}
              aria-valuetext=${formatPercent(share)}
              ><span class="progress-bar" .style=${`display:block;width:${share * 100}%`}></span
            ></span>`
          : nothing
      }
    </button>`;
}
