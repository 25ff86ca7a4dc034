/** Bars for each day, a piece of them for each model; the same figures stand in a table below. */

import { formatCount, formatDay } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { html, svg } from '../../common/lit.js';
import { formatMoney } from '../conversation/models.js';
import { axisOf } from './figures.js';

/** @typedef {import('./figures.js').DayBar} DayBar */
/** @typedef {import('./figures.js').Measure} Measure */

const COLOURS = 6;
const WIDTH = 1000;
const LEFT = 72;
const RIGHT = 12;
const TOP = 20;
const HEIGHT = 200;
const BOTTOM = 28;
/** Fewer days would make fat bars. */
const MIN_DAYS = 10;
const MAX_BAR_WIDTH = 44;
/** Narrower bars have no room for their figure. */
const MIN_LABEL_WIDTH = 44;

/**
 * @param {readonly DayBar[]} days
 * @param {readonly string[]} names of the models, in the order of their colours
 * @param {Measure} measure
 * @param {string} currency
 */
export function chart(days, names, measure, currency) {
  const ticks = axisOf(Math.max(...days.map(({ total }) => total), 0));
  const most = ticks[ticks.length - 1];
  const slots = Math.max(days.length, MIN_DAYS);
  const dayWidth = (WIDTH - LEFT - RIGHT) / slots;
  const text = (/** @type {number} */ value) => figureText(value, measure, currency);
  const y = (/** @type {number} */ value) => TOP + HEIGHT - (value / most) * HEIGHT;
  const label = t('usage.chart', { count: days.length });
  return html`<figure class="usage-chart">
    <div class="chart-scroll" tabindex="0" role="group" aria-label=${label}>
      <svg
        viewBox="0 0 ${WIDTH} ${TOP + HEIGHT + BOTTOM}"
        preserveAspectRatio="xMinYMid meet"
        role="img"
        aria-label=${label}
      >
        ${ticks.map(
          (value) => svg`<g class="chart-tick">
            <line x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(value)} y2=${y(value)} />
            <text x=${LEFT - 8} y=${y(value) + 4} text-anchor="end">${text(value)}</text>
          </g>`,
        )}
        ${days.map((day, index) => dayBar(day, { x: LEFT + index * dayWidth, dayWidth, y, names, text }))}
        ${days.map((day, index) => dayName(day, index, { count: days.length, dayWidth }))}
      </svg>
    </div>
    <figcaption class="chart-legend">
      ${names.map(
        (name, index) =>
          html`<span class="legend-entry">
            <span class="legend-colour chart-${(index % COLOURS) + 1}" aria-hidden="true"></span
            >${name}
          </span>`,
      )}
    </figcaption>
  </figure>`;
}

/**
 * @param {DayBar} day
 * @param {{ x: number, dayWidth: number, y: (value: number) => number, names: readonly string[], text: (value: number) => string }} place
 */
function dayBar({ day, pieces, total }, { x, dayWidth, y, names, text }) {
  let below = 0;
  const width = Math.min(dayWidth - 8, MAX_BAR_WIDTH);
  const left = x + (dayWidth - width) / 2;
  const bars = pieces.map(({ modelName, value }) => {
    const top = y(below + value);
    const height = Math.max(1, y(below) - top);
    below += value;
    const colour = (names.indexOf(modelName) % COLOURS) + 1;
    return svg`<rect class="chart-bar chart-${colour}" x=${left} y=${top} width=${width} height=${height} rx="1.5">
      <title>${formatDay(day)}: ${modelName}, ${text(value)}</title>
    </rect>`;
  });
  if (total === 0 || dayWidth < MIN_LABEL_WIDTH) return bars;
  return [
    ...bars,
    svg`<text class="chart-day" x=${x + dayWidth / 2} y=${y(total) - 5} text-anchor="middle">${text(total)}</text>`,
  ];
}

/**
 * @param {DayBar} day
 * @param {number} index
 * @param {{ count: number, dayWidth: number }} days
 */
function dayName({ day }, index, { count, dayWidth }) {
  const every = Math.ceil(count / 10);
  if ((count - 1 - index) % every !== 0) return svg``;
  const x = LEFT + (index + 0.5) * dayWidth;
  return svg`<text class="chart-day" x=${x} y=${TOP + HEIGHT + 18} text-anchor="middle">${formatDay(day)}</text>`;
}

/**
 * @param {number} value
 * @param {Measure} measure
 * @param {string} currency
 */
export function figureText(value, measure, currency) {
  return measure === 'cost' ? formatMoney(value, currency) : formatCount(value);
}
