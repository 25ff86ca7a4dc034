/** The bars of the index: files, and vectors for each config. */

import { formatCount, formatDuration, formatPercent } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';

/** @param {import('./status_watch.js').StatusWatch} watch */
export function bars({ status, progress }) {
  if (!status || !progress) return nothing;
  const { files, filesWaiting, chunks, configs } = status;
  return html`<div class="index-bars">
    ${bar({
      name: t('index.files'),
      share: progress.files,
      detail:
        filesWaiting > 0
          ? t('index.files.waiting', { files, waiting: filesWaiting })
          : t('index.files.all', { count: files, chunks: formatCount(chunks) }),
    })}
    ${configs.map((config) =>
      bar({
        name: t('index.config', { name: config.name }),
        share: progress.configs[config.name] ?? 0,
        detail: configDetail(config),
        trouble: config.trouble,
      }),
    )}
  </div>`;
}

/** @param {import('../../../../types/protocol.d.ts').ConfigStatusEntry} config */
function configDetail({ chunks, waiting, chunksPerSecond, secondsLeft, ready }) {
  if (waiting === 0) return t('index.config.done', { count: chunks });
  const parts = [t('index.config.waiting', { done: Math.max(0, chunks - waiting), all: chunks })];
  if (!ready) parts.push(t('index.config.loading'));
  if (chunksPerSecond) parts.push(t('index.config.speed', { speed: Math.round(chunksPerSecond) }));
  if (secondsLeft !== null) parts.push(t('index.left', { time: formatDuration(secondsLeft) }));
  return parts.join(' · ');
}

/**
 * @param {{ name: string, share: number, detail: string, trouble?: string }} what
 */
function bar({ name, share, detail, trouble = '' }) {
  return html`<div class="index-bar">
    <div class="index-bar-name">${name}</div>
    <span
      class="progress"
      role="progressbar"
      aria-label=${name}
      aria-valuemin="0"
      aria-valuemax="100"
      aria-valuenow=${Math.floor(share * 100)}
      aria-valuetext="${formatPercent(share)}, ${detail}"
      ><span class="progress-bar" .style=${`display:block;width:${share * 100}%`}></span
    ></span>
    <div class="index-bar-share">${formatPercent(Math.floor(share * 100) / 100)}</div>
    <div class="index-bar-detail faint">${detail}</div>
    ${trouble ? html`<div class="index-bar-detail field-problem">${trouble}</div>` : nothing}
  </div>`;
}
