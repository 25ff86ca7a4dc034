/** The figures of the usage tab as tables. */

import { formatCost, formatCount, formatDay } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { html } from '../../common/lit.js';
import { figureText } from './chart.js';

/** @typedef {import('./figures.js').ApiUsageEntry} ApiUsageEntry */
/** @typedef {import('./figures.js').DayBar} DayBar */
/** @typedef {import('./figures.js').Measure} Measure */

/** @param {readonly ApiUsageEntry[]} usage */
export function modelTable(usage) {
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
                ${entry.cost === undefined ? t('usage.cost.unknown') : formatCost(entry.cost)}
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
 */
export function dayTable(days, names, measure) {
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
              ${names.map((name) => html`<td class="amount">${figureText(value(day, name), measure)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
