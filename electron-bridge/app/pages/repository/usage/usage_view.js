/** The usage tab: what the chat models have used for this repository. */

import { makeRenderer } from '../../common/renderer.js';
import { formatCount } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { kernel } from '../../common/kernel.js';
import { html, nothing } from '../../common/lit.js';
import { emptyState, failureState, loadingState } from '../../common/states.js';
import { formatMoney } from '../conversation/models.js';
import { chart } from './chart.js';
import { daysOf, totalsOf } from './figures.js';
import { dayTable, modelTable, repoTable } from './tables.js';

/** @typedef {import('./figures.js').ApiUsageEntry} ApiUsageEntry */

/**
 * @param {HTMLElement} container
 * @param {import('../main.js').Page} page
 * @returns {import('../main.js').View}
 */
export function mountUsage(container, page) {
  /** @type {{ usage: ApiUsageEntry[] | null, repos: import('../../../../types/protocol.d.ts').RepoUsageEntry[], currency: string, failure: unknown, measure: import('./figures.js').Measure }} */
  const state = { usage: null, repos: [], currency: '', failure: null, measure: 'tokens' };
  let isShown = false;
  const draw = makeRenderer(container, template);

  function template() {
    const { usage, repos, currency, failure } = state;
    const failed = failure ? failureState(failure, { retry: load }) : nothing;
    if (!usage) return failure ? failed : loadingState();
    const used = usage.filter((entry) => entry.total_token > 0);
    if (used.length === 0) return html`${failed} ${nothingUsed()}`;
    const totals = totalsOf(used);
    const measure = totals.cost === null ? 'tokens' : state.measure;
    const drawn = measure === 'cost' ? used.filter(({ cost }) => cost !== undefined) : used;
    const days = daysOf(drawn, measure);
    const names = drawn.map(({ modelName }) => modelName);
    return html`<div class="usage-page stack">
      ${failed}
      <dl class="usage-totals">
        ${figure(t('usage.total'), formatCount(totals.total))}
        ${figure(t('usage.input'), formatCount(totals.input))}
        ${figure(t('usage.output'), formatCount(totals.output))}
        ${
          totals.cost === null
            ? nothing
            : figure(
                t('usage.cost'),
                formatMoney(totals.cost, currency),
                totals.isCostWhole ? '' : t('usage.cost.partly'),
              )
        }
      </dl>
      ${totals.cost === null ? html`<p class="hint">${t('usage.cost.none')}</p>` : nothing}
      <section class="card index-card" aria-labelledby="usage-days">
        <div class="spread">
          <h2 id="usage-days">${t('usage.days')}</h2>
          ${totals.cost === null ? nothing : measureChoice(measure)}
        </div>
        ${chart(days, names, measure, currency)}
        <details class="usage-table">
          <summary>${t('usage.asTable')}</summary>
          ${dayTable(days, names, measure, currency)}
        </details>
      </section>
      <section class="card index-card" aria-labelledby="usage-models">
        <h2 id="usage-models">${t('usage.models')}</h2>
        ${modelTable(used, currency)}
      </section>
      <section class="card index-card" aria-labelledby="usage-repos">
        <h2 id="usage-repos">${t('usage.repos')}</h2>
        ${repoTable(repos, page.repoName, currency)}
      </section>
    </div>`;
  }

  function nothingUsed() {
    return emptyState({
      title: t('usage.empty'),
      text: t('usage.empty.text'),
      action: html`<button class="button" type="button" @click=${() => page.showTab('talk')}>
        ${t('usage.empty.ask')}
      </button>`,
    });
  }

  /** @param {import('./figures.js').Measure} measure */
  function measureChoice(measure) {
    const button = (/** @type {import('./figures.js').Measure} */ name) =>
      html`<button
        class=${name === measure ? 'chip set' : 'chip'}
        type="button"
        aria-pressed=${String(name === measure)}
        @click=${() => choose(name)}
      >
        ${t(`usage.measure.${name}`)}
      </button>`;
    return html`<div class="chips" role="group" aria-label=${t('usage.measure')}>
      ${button('tokens')} ${button('cost')}
    </div>`;
  }

  /** @param {import('./figures.js').Measure} measure */
  function choose(measure) {
    state.measure = measure;
    draw();
  }

  async function load() {
    if (!page.session.isPrepared) return;
    try {
      const [usage, models] = await Promise.all([
        kernel.getApiUsage({ allRepos: true }),
        kernel.getGenerationModels(),
      ]);
      state.usage = usage.apiUsage;
      state.repos = usage.repos ?? [];
      state.currency = models.currency ?? '';
      state.failure = null;
    } catch (failure) {
      state.failure = failure;
    }
    draw();
  }

  page.session.onChange(() => isShown && load());

  return {
    shown: () => {
      isShown = true;
      load();
    },
    hidden: () => {
      isShown = false;
    },
  };
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} [note]
 */
function figure(name, value, note = '') {
  return html`<div class="card usage-figure">
    <dt>${name}</dt>
    <dd>${value} ${note ? html`<span class="faint">${note}</span>` : nothing}</dd>
  </div>`;
}
