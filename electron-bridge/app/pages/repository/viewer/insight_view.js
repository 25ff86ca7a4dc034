/** The panel beside a file: callers, callees, tests and commits of a place, each one a way there. */

import { explain } from '../../common/failures.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { onInsightKey } from './insight_keys.js';

/** @typedef {import('./insight.js').Insight} Insight */
/** @typedef {import('./insight.js').CodeDefinition} CodeDefinition */

/**
 * @typedef {object} InsightActions
 * @property {(place: { filePath: string, firstLine: number, lastLine: number }) => void} open
 * @property {(place: string) => void} ask about another place, or a name
 * @property {() => void} leave it stays; the keys go to where they were
 * @property {() => void} close
 */

/** There is no such place: said in the words of the panel. */
const NOWHERE = 'WRONG_PARAM';

/**
 * @param {Insight} insight
 * @param {InsightActions} actions
 */
export function insightView(insight, actions) {
  const onKey = (/** @type {KeyboardEvent} */ event) => onInsightKey(event, actions.leave);
  return html`<aside class="insight" aria-label=${t('insight.title')} @keydown=${onKey}>
    <form class="insight-head" @submit=${(/** @type {SubmitEvent} */ event) => ask(event, actions)}>
      <input
        class="input insight-place"
        name="place"
        aria-label=${t('insight.place')}
        title=${t('insight.place')}
        autocomplete="off"
        spellcheck="false"
        .value=${insight.place}
      />
      <button
        class="button small quiet icon"
        type="button"
        aria-label=${t('insight.close')}
        title=${t('insight.close')}
        @click=${actions.close}
      >
        ${icon('close')}
      </button>
    </form>
    <div class="insight-body">${callSections(insight, actions)} ${commitSection(insight)}</div>
  </aside>`;
}

/**
 * @param {SubmitEvent} event
 * @param {InsightActions} actions
 */
function ask(event, { ask: askAbout }) {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const place = String(new FormData(form).get('place')).trim();
  if (place) askAbout(place);
}

/**
 * @param {Insight} insight
 * @param {InsightActions} actions
 */
function callSections(insight, { open, ask: askAbout }) {
  const { found, failure } = insight.calls;
  if (failure)
    return section(t('insight.callers'), '', trouble(insight, failure, 'insight.noCode'));
  if (!found) return section(t('insight.callers'), '', waiting(t('insight.reading')));
  const { callers, farther, callees, tests } = found;
  const narrow = (/** @type {CodeDefinition} */ { filePath, firstLine, lastLine }) => {
    open({ filePath, firstLine, lastLine });
    askAbout(`${filePath}:${firstLine}-${lastLine}`);
  };
  return html`${definitions(found.definitions, narrow)}
  ${section(
    t('insight.callers'),
    callers.length + farther.length + found.moreCallers,
    html`${list([
      ...callers.map(({ place, lines, certainty }) =>
        row(place, { ...at(place, lines), note: certaintyText(certainty) }, open),
      ),
      ...farther.map((place) => row(place, { note: farText(place) }, open)),
    ])}
    ${more(found.moreCallers)}`,
  )}
  ${section(
    t('insight.tests'),
    tests.length,
    html`${list(tests.map((place) => row(place, { note: farText(place) }, open)))}
    ${found.weakTests ? html`<p class="insight-more faint">${t('insight.weak', { count: found.weakTests })}</p>` : nothing}`,
  )}
  ${section(
    t('insight.callees'),
    callees.length + found.moreCallees,
    html`${list(
      callees.map(({ place, certainty }) => row(place, { note: certaintyText(certainty) }, open)),
    )}
    ${more(found.moreCallees)}`,
  )}
  ${found.behind ? html`<p class="insight-more faint">${t('insight.behind', { count: found.behind })}</p>` : nothing}`;
}

/**
 * What is meant; one of several can be asked about alone.
 *
 * @param {readonly CodeDefinition[]} found
 * @param {(one: CodeDefinition) => void} narrow
 */
function definitions(found, narrow) {
  const rows = found.map((one) => row(one, {}, () => narrow(one)));
  return section(t('insight.definitions'), found.length, list(rows));
}

/** @param {Insight} insight */
function commitSection(insight) {
  const { found, failure } = insight.history;
  const title = t('insight.commits');
  if (failure) return section(title, '', trouble(insight, failure, 'insight.noHistory'));
  if (!found) return section(title, '', waiting(t('insight.asking')));
  const { commits, hasMore, uncommitted } = found;
  return section(
    title,
    commits.length,
    html`${
        uncommitted.length > 0
          ? html`<p class="insight-more">
              ${t('insight.uncommitted', { count: uncommitted.length })}
            </p>`
          : nothing
      }
      <ul class="insight-list">
        ${commits.map(
          (commit) =>
            html`<li>
              <details class="commit">
                <summary>
                  <span class="insight-name">${commit.subject}</span>
                  <span class="insight-where faint"
                    ><code>${commit.id.slice(0, 8)}</code> ${commit.author} ·
                    ${commit.date.slice(0, 10)}${linesText(commit.lines.length)}</span
                  >
                </summary>
                <p class="commit-body">${commit.body || commit.subject}</p>
              </details>
            </li>`,
        )}
      </ul>
      ${hasMore ? html`<p class="insight-more faint">${t('insight.moreCommits')}</p>` : nothing}`,
  );
}

/** @param {number} count of today's lines; none of an older commit whose lines were changed since */
function linesText(count) {
  return count > 0 ? ` · ${t('insight.lines', { count })}` : '';
}

/**
 * @param {string} title
 * @param {number | string} count
 * @param {unknown} content
 */
function section(title, count, content) {
  return html`<section class="insight-section">
    <h3>${title} ${count === '' ? nothing : html`<span class="badge">${count}</span>`}</h3>
    ${count === 0 ? html`<p class="insight-more faint">${t('insight.none')}</p>` : content}
  </section>`;
}

/** @param {unknown[]} rows */
function list(rows) {
  return html`<ul class="insight-list">
    ${rows}
  </ul>`;
}

/**
 * @param {CodeDefinition} place
 * @param {{ line?: number, note?: string }} more `line`: what is opened instead of the definition
 * @param {InsightActions['open']} open
 */
function row({ name, filePath, firstLine, lastLine }, { line, note = '' }, open) {
  const where = line ? { firstLine: line, lastLine: line } : { firstLine, lastLine };
  return html`<li>
    <button
      class="insight-row"
      type="button"
      title=${`${filePath}:${where.firstLine}`}
      @click=${() => open({ filePath, ...where })}
    >
      <span class="insight-name">${name || filePath.slice(filePath.lastIndexOf('/') + 1)}</span>
      ${note ? html`<span class="insight-note faint">${note}</span>` : nothing}
      <span class="insight-where faint"><bdi>${filePath}:${where.firstLine}</bdi></span>
    </button>
  </li>`;
}

/**
 * A caller is opened at its first call.
 *
 * @param {CodeDefinition} place
 * @param {readonly number[]} lines
 */
function at({ firstLine }, lines) {
  return { line: lines[0] ?? firstLine };
}

/** @param {string} certainty what is certain needs no words */
function certaintyText(certainty) {
  return certainty && certainty !== 'certain' ? t(`insight.${certainty}`) : '';
}

/** @param {{ distance: number, certainty: string }} reached */
function farText({ distance, certainty }) {
  const far = distance > 1 ? t('insight.away', { count: distance }) : '';
  return [far, certaintyText(certainty)].filter(Boolean).join(' · ');
}

/** @param {number} count what was left out */
function more(count) {
  return count > 0
    ? html`<p class="insight-more faint">${t('insight.more', { count })}</p>`
    : nothing;
}

/** @param {string} text */
function waiting(text) {
  return html`<p class="insight-more faint" role="status">
    <span class="spinner" aria-hidden="true"></span> ${text}
  </p>`;
}

/**
 * @param {Insight} insight
 * @param {unknown} failure
 * @param {string} nowhere what it means that there is no such place
 */
function trouble(insight, failure, nowhere) {
  const { code, sentence } = explain(failure);
  if (code === NOWHERE) return html`<p class="insight-more faint">${t(nowhere)}</p>`;
  return html`<p class="insight-more" role="alert">
    ${sentence}
    <button class="button small" type="button" @click=${() => insight.again()}>
      ${t('act.retry')}
    </button>
  </p>`;
}
