/** What stands around the list of results, or in its place. */

import { formatPercent } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';
import { emptyState, failureState } from '../../common/states.js';
import { parseQuery, removeParts } from './query_parts.js';
import { forgetQueries, recentQueries, savedQueries } from './recent_queries.js';

/** @typedef {import('./search_state.js').SearchState} SearchState */
/** @typedef {import('../main.js').Page} Page */

/** The kernel counts no further: there may be more. */
const MAX_COUNTED_HITS = 1000;
/** One of each kind; what they mean is beside them. */
const EXAMPLES = Object.freeze([
  { name: 'question', query: '' },
  { name: 'filter', query: 'lang:python path:src -path:tests ' },
  { name: 'exact', query: '"TODO" ' },
  { name: 'regex', query: '/def \\w+_test/i ' },
  { name: 'symbol', query: 'symbol:Session ' },
]);

/** @param {SearchState} state */
export function countLine(state) {
  if (!state.answered || state.failure) return nothing;
  return state.gap ? `${countHits(state)} ${state.gap}.` : countHits(state);
}

/** @param {SearchState} state */
function countHits(state) {
  const { results, ms, isComplete } = state;
  if (results.length === 0) return t('count.none', { ms: Math.round(ms) });
  const total = Math.max(state.facets?.total ?? 0, results.length);
  const values = { count: results.length, total, ms: Math.round(ms) };
  const text = t(total > results.length ? 'count.foundOf' : 'count.found', values);
  return isComplete || (total > results.length && total < MAX_COUNTED_HITS)
    ? text
    : `${text} ${t('count.incomplete')}`;
}

/**
 * @param {SearchState} state
 * @param {Page} page
 * @param {(query: string) => void} setQuery
 * @param {import('./first_tips.js').FirstTips} tips
 */
export function beforeList(state, page, setQuery, tips) {
  if (state.failure) return failureState(state.failure, { retry: () => state.again() });
  if (!state.answered) return state.query.trim() ? nothing : startState(page, setQuery, tips);
  return state.results.length === 0 ? nothingFound(state, page, setQuery) : nothing;
}

/** Repositories of which not everything was searched, and why. @param {SearchState} state */
export function gapNotice({ gaps }) {
  if (gaps.length === 0) return nothing;
  return html`<div class="notice warn" role="status">
    <ul class="notice-body scope-gaps">
      ${gaps.map(({ repoName, error, gap }) => html`<li><b>${repoName}</b>: ${error || gap}</li>`)}
    </ul>
  </div>`;
}

/** @param {SearchState} state */
export function afterList(state) {
  if (state.failure || state.results.length === 0) return nothing;
  if (!state.hasMore) {
    return state.answered?.isMore
      ? html`<p class="results-end faint">${t('count.all')}</p>`
      : nothing;
  }
  return html`<p class="results-end">
    <button class="button" type="button" ?disabled=${state.isUnderWay} @click=${() => state.more()}>
      ${t('search.more')}
    </button>
  </p>`;
}

/**
 * @param {Page} page
 * @param {(query: string) => void} setQuery
 * @param {import('./first_tips.js').FirstTips} tips
 */
function startState(page, setQuery, tips) {
  const recent = recentQueries(page.repoName);
  const forget = html`<button
    class="button small quiet"
    type="button"
    @click=${() => {
      forgetQueries(page.repoName);
      setQuery('');
    }}
  >
    ${t('start.forget')}
  </button>`;
  return html`<div class="search-start">
    ${tips.template()} ${indexingNote(page)}
    ${queryList(t('start.saved'), savedQueries(page.repoName), setQuery)}
    ${queryList(t('start.recent'), recent, setQuery, forget)}
    <section class="search-hints">
      <h2>${t('start.hints')}</h2>
      <dl>
        ${EXAMPLES.map(({ name, query }) => {
          const text = query || t('start.question.example');
          return html`<div>
            <dt>
              <button class="recent-query code-like" type="button" @click=${() => setQuery(text)}>
                ${text}
              </button>
            </dt>
            <dd>${t(`start.${name}`)}</dd>
          </div>`;
        })}
      </dl>
    </section>
  </div>`;
}

/**
 * @param {string} title
 * @param {readonly string[]} queries
 * @param {(query: string) => void} setQuery
 * @param {unknown} [action]
 */
function queryList(title, queries, setQuery, action = nothing) {
  if (queries.length === 0) return nothing;
  return html`<section class="search-recent">
    <div class="spread">
      <h2>${title}</h2>
      ${action}
    </div>
    <ul>
      ${queries.map(
        (query) =>
          html`<li>
            <button class="recent-query" type="button" @click=${() => setQuery(query)}>
              ${query}
            </button>
          </li>`,
      )}
    </ul>
  </section>`;
}

/**
 * @param {SearchState} state
 * @param {Page} page
 * @param {(query: string) => void} setQuery
 */
function nothingFound({ query }, page, setQuery) {
  const parts = parseQuery(query);
  const rest = removeParts(query, ...parts);
  return html`${emptyState({
    title: t('none.title'),
    text: parts.length > 0 ? t('none.filters') : t('none.words'),
    action:
      parts.length > 0 && rest
        ? html`<button class="button" type="button" @click=${() => setQuery(rest)}>
            ${t('none.without')}
          </button>`
        : nothing,
  })}
  ${indexingNote(page)}`;
}

/** @param {Page} page */
function indexingNote({ watch, showTab }) {
  if (!watch.isWorking) return nothing;
  const percent = formatPercent(watch.progress?.overall ?? 0);
  return html`<div class="notice indexing-note">
    <div class="notice-body">${t('none.indexing', { percent })}</div>
    <button class="button small" type="button" @click=${() => showTab('index')}>
      ${t('none.indexing.show')}
    </button>
  </div>`;
}
