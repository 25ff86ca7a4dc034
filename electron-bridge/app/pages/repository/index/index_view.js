/** The index tab: progress, files in progress, and skipped files with their reasons. */

import { makeRenderer } from '../../common/renderer.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { kernel } from '../../common/kernel.js';
import { html, nothing } from '../../common/lit.js';
import { failureState, loadingState } from '../../common/states.js';
import { toastFailure } from '../../common/toast.js';
import { activityCard } from './activity_card.js';
import { askCards } from './ask_card.js';
import { bars } from './bars.js';
import { MapCard } from './map_card.js';
import { ResourcesCard } from './resources_card.js';
import { SkippedFiles } from './skipped_files.js';
import { sentence } from './state_text.js';

/** Statuses come in bursts; no user reads faster than this. */
const DRAW_INTERVAL_MS = 250;

/**
 * @param {HTMLElement} container
 * @param {import('../main.js').Page} page
 * @returns {import('../main.js').View}
 */
export function mountIndex(container, page) {
  const { watch } = page;
  let isShown = false;
  let isAsking = false;
  const skipped = new SkippedFiles(() => draw());
  const map = new MapCard({
    changed: () => draw(),
    entered: (folder) => page.note('index', { opened: folder || undefined }, { isNew: true }),
    openFile: (filePath) => page.viewer.open({ filePath, beginLine: 0, endLine: 0 }),
  });
  const resources = new ResourcesCard(page.repoName, () => draw());
  /** The files at the last look: the map is made anew when there are others. */
  let mapped = -1;
  const draw = makeRenderer(container, template);
  const drawSoon = throttle(() => isShown && draw(), DRAW_INTERVAL_MS);

  function template() {
    const { status, failure } = watch;
    if (!status) {
      return failure
        ? failureState(failure, { retry: () => watch.refresh() })
        : loadingState(t('index.asking'));
    }
    return html`<div class="index-page stack">
      ${failure ? failureState(failure, { retry: () => watch.refresh() }) : nothing}
      ${askCards(status.asks ?? [], () => watch.refresh())}
      <section class="card index-card">
        <div class="spread">
          <h2 class="index-sentence">${sentence(watch)}</h2>
          ${pauseButton(Boolean(status.paused), status.state)}
        </div>
        ${hasNotice(status) ? errorNotice(status.trouble) : nothing} ${bars(watch)}
        ${status.notice ? html`<p class="faint index-notice">${status.notice}</p>` : nothing}
        <p class="faint index-watching">${watching(status.watching)}</p>
      </section>
      ${watch.isWorking ? activityCard(watch.activity) : nothing} ${map.template()}
      ${skipped.template(status.refused)} ${resources.template()}
      ${watch.isWorking ? nothing : activityCard(watch.activity)}
    </div>`;
  }

  /**
   * @param {boolean} paused
   * @param {string} state
   */
  function pauseButton(paused, state) {
    if (state === 'read-only') return nothing;
    return html`<button
      class="button"
      type="button"
      aria-pressed=${String(paused)}
      title=${t('index.pause.hint')}
      ?disabled=${isAsking}
      @click=${() => pause(!paused)}
    >
      ${icon(paused ? 'play' : 'pause')} ${paused ? t('index.resume') : t('index.pause')}
    </button>`;
  }

  /** @param {boolean} paused */
  async function pause(paused) {
    isAsking = true;
    draw();
    try {
      await kernel.pauseIndexing({ paused });
      await watch.refresh();
    } catch (failure) {
      toastFailure(failure);
    }
    isAsking = false;
    draw();
  }

  watch.onChange(() => {
    drawSoon();
    if (isShown) refresh();
  });

  /** @param {string} [folder] another one than before */
  function refresh(folder) {
    if (!watch.status || !page.session.isPrepared) return;
    skipped.refresh(watch.status.refused);
    const isOther = folder !== undefined && folder !== map.folder;
    const isQuiet = watch.status.filesWaiting === 0 && watch.status.files !== mapped;
    if (!isOther && !isQuiet) return;
    mapped = watch.status.files;
    map.load(folder);
    resources.load();
  }

  return {
    shown: ({ opened = '' }) => {
      isShown = true;
      watch.refresh();
      map.folder = mapped < 0 ? opened : map.folder;
      refresh(opened);
      draw();
    },
    hidden: () => {
      isShown = false;
    },
  };
}

/** What the banner above the tabs says is not said again. @param {import('./progress.js').Status} status */
function hasNotice({ trouble, cause }) {
  return trouble !== '' && cause !== 'full-disk';
}

/** @param {string} text */
function errorNotice(text) {
  return html`<div class="notice warn" role="alert">
    ${icon('warning')}
    <div class="notice-body">${text}</div>
  </div>`;
}

/** @param {string} how */
function watching(how) {
  const known = { watching: 'watching', polling: 'polling', 'not yet': 'notYet' }[how];
  return known ? t(`index.${known}`) : how;
}

/**
 * @param {() => void} act
 * @param {number} pause milliseconds
 */
function throttle(act, pause) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let clock;
  return () => {
    clock ??= setTimeout(() => {
      clock = undefined;
      act();
    }, pause);
  };
}
