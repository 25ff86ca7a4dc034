/** The figures of the usage tab as tables. */

import { formatCount, formatDay } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { html } from '../../common/lit.js';
import { formatMoney } from '../conversation/models.js';
import { figureText } from './chart.js';
import { reposOf } from './figures.js';

/** @typedef {import('./figures.js').ApiUsageEntry} ApiUsageEntry */
/** @typedef {import('./figures.js').DayBar} DayBar */
/** @typedef {import('./figures.js').Measure} Measure */

/**
 * @param {readonly ApiUsageEntry[]} usage
 * @param {string} currency
 */
export function modelTable(usage, currency) {
  const heads = ['model', 'input', 'output', 'total', 'cost'];
  return html`<div class="table-scroll" tabindex="0" role="group" aria-label=${t('usage.models')}>
    <table class="table">
      <thead>
        <tr>
          ${heads.map(
            (name) =>
              html`<th scope="col" class=${name === 'model' ? '' : 'amount'}>
                ${t(`usage.${name}`)}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${usage.map(
          (entry) =>
            html`<tr>
              <th scope="row">${entry.modelName}</th>
              <td class="amount">${formatCount(entry.input_token)}</td>
              <td class="amount">${formatCount(entry.output_token)}</td>
              <td class="amount">${formatCount(entry.total_token)}</td>
              <td class="amount">
                ${entry.cost === undefined ? t('usage.cost.unknown') : formatMoney(entry.cost, currency)}
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/**
 * @param {readonly DayBar[]} days
 * @param {readonly string[]} names
 * @param {Measure} measure
 * @param {string} currency
 */
export function dayTable(days, names, measure, currency) {
  const value = (/** @type {DayBar} */ { pieces }, /** @type {string} */ name) =>
    pieces.find(({ modelName }) => modelName === name)?.value ?? 0;
  return html`<div class="table-scroll" tabindex="0" role="group" aria-label=${t('usage.days')}>
    <table class="table">
      <thead>
        <tr>
          <th scope="col">${t('usage.day')}</th>
          ${names.map((name) => html`<th scope="col" class="amount">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${[...days].reverse().map(
          (day) =>
            html`<tr>
              <th scope="row">${formatDay(day.day)}</th>
              ${names.map((name) => html`<td class="amount">${figureText(value(day, name), measure, currency)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/**
 * @param {readonly import('../../../../types/protocol.d.ts').RepoUsageEntry[]} entries
 * @param {string} repoName the one that is open
 * @param {string} currency
 */
export function repoTable(entries, repoName, currency) {
  return html`<div class="table-scroll" tabindex="0" role="group" aria-label=${t('usage.repos')}>
    <table class="table">
      <thead>
        <tr>
          <th scope="col">${t('usage.repo')}</th>
          <th scope="col" class="amount">${t('usage.total')}</th>
          <th scope="col" class="amount">${t('usage.cost')}</th>
        </tr>
      </thead>
      <tbody>
        ${reposOf(entries).map(
          ({ repoName: name, tokens, cost }) =>
            html`<tr>
              <th scope="row">${name === repoName ? html`<strong>${name}</strong>` : name}</th>
              <td class="amount">${formatCount(tokens)}</td>
              <td class="amount">
                ${cost === null ? t('usage.cost.unknown') : formatMoney(cost, currency)}
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
