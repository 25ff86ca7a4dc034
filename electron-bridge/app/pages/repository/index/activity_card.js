/** The card of files in progress and files just finished. */

import { formatPercent } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing, repeat } from '../../common/lit.js';
import { pathText } from '../viewer/file_path.js';

const MAX_RUNNING_SHOWN = 20;
const MAX_FINISHED_SHOWN = 12;

/** @param {import('./activity.js').Activity} activity */
export function activityCard(activity) {
  const underWay = activity.underWay(MAX_RUNNING_SHOWN);
  const finished = activity.finished(MAX_FINISHED_SHOWN);
  const more = activity.underWayCount - underWay.length;
  return html`<section class="card index-card" aria-labelledby="activity-title">
    <h2 id="activity-title">${t('activity.title')}</h2>
    ${
      underWay.length + finished.length === 0
        ? html`<p class="muted">${t('activity.none')}</p>`
        : nothing
    }
    <ul class="activity">
      ${repeat(
        underWay,
        ({ filePath }) => filePath,
        ({ filePath, progress }) =>
          html`<li class="activity-row">
            ${pathText(filePath)}
            <span class="progress activity-progress" aria-hidden="true"
              ><span class="progress-bar" .style=${`display:block;width:${progress * 100}%`}></span
            ></span>
            <span class="activity-state faint">${formatPercent(progress)}</span>
          </li>`,
      )}
      ${more > 0 ? html`<li class="faint">${t('activity.more', { count: more })}</li>` : nothing}
      ${repeat(
        finished,
        (filePath) => `done ${filePath}`,
        (filePath) =>
          html`<li class="activity-row">
            ${pathText(filePath)}
            <span class="activity-state done">${icon('check')} ${t('activity.done')}</span>
          </li>`,
      )}
    </ul>
  </section>`;
}
