/** A file of the session's folder as it is now, with the lines that somebody named. */

import { openDialog } from '../../common/dialog.js';
import { t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';
import { loadingState } from '../../common/states.js';
import { numberedLines } from '../../repository/code/code_lines.js';
import { colouredLines } from '../../repository/code/colours.js';
import { sessionPath } from '../hub/hub_client.js';
import { explainHubFailure } from '../hub/hub_failure.js';
import { decodeBase64 } from '../sessions/changes.js';

/** Lines that are shown at most, and before the first that was named. */
const MAX_LINES = 2_000;
const LINES_BEFORE = 20;

/** @typedef {{ path: string, begin?: number, end?: number }} FilePlace */

/**
 * @param {string} sessionId
 * @param {FilePlace} place
 * @param {import('../hub/hub_client.js').HubClient} client
 */
export async function openFileDialog(sessionId, place, client) {
  let problem = '';
  /** @type {HTMLElement | null} */
  let lines = null;
  let redraw = () => {};
  const shown = openDialog({
    title: place.path,
    wide: true,
    body: ({ close, draw }) => {
      redraw = draw;
      return html`${problem ? html`<p class="notice failure" role="alert">${problem}</p>` : nothing}
        ${
          lines
            ? html`<div class="file-lines code" tabindex="0" role="region" aria-label=${place.path}>
                ${lines}
              </div>`
            : nothing
        }
        ${!lines && !problem ? loadingState() : nothing}
        <div class="dialog-actions">
          <button class="button" type="button" autofocus @click=${() => close()}>
            ${t('act.close')}
          </button>
        </div>`;
    },
  });
  try {
    const query = new URLSearchParams({ path: place.path });
    const answer = await client.get(`${sessionPath(sessionId, 'file')}?${query}`);
    if (answer.success) lines = renderLines(decodeBase64(answer.content), place);
    else problem = String(answer.error);
  } catch (failure) {
    problem = explainHubFailure(failure);
  }
  redraw();
  lines?.querySelector('.hit')?.scrollIntoView({ block: 'center' });
  await shown;
}

/**
 * @param {string} text
 * @param {FilePlace} place
 */
function renderLines(text, { path, begin = 0, end = 0 }) {
  const from = Math.max(1, begin - LINES_BEFORE);
  const part = text.split('\n').slice(from - 1, from - 1 + MAX_LINES);
  const coloured = colouredLines(part.join('\n'), path.split('.').at(-1) ?? '');
  return numberedLines(coloured, { from, isHit: (number) => number >= begin && number <= end });
}
