/** Bars for each day, a piece of them for each model; the same figures stand in a table below. */

import { formatCost, formatCount, formatDay } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { html, svg } from '../../common/lit.js';
import { axisOf } from './figures.js';

/** @typedef {import('./figures.js').DayBar} DayBar */
/** @typedef {import('./figures.js').Measure} Measure */

const COLOURS = 6;
const LEFT = 64;
const RIGHT = 28;
const TOP = 12;
const HEIGHT = 180;
const BOTTOM = 28;
const DAY_WIDTH = 24;
/** Fewer days would make fat bars. */
const MIN_DAYS = 14;

/**
 * @param {readonly DayBar[]} days
 * @param {readonly string[]} names of the models, in the order of their colours
 * @param {Measure} measure
 */
export function chart(days, names, measure) {
  const ticks = axisOf(Math.max(...days.map(({ total }) => total), 0));
  const most = ticks[ticks.length - 1];
  const slots = Math.max(days.length, MIN_DAYS);
  const width = LEFT + slots * DAY_WIDTH + RIGHT;
  const y = (/** @type {number} */ value) => TOP + HEIGHT - (value / most) * HEIGHT;
  const label = t('usage.chart', { count: days.length });
  return html`<figure class="usage-chart">
    <div class="chart-scroll" tabindex="0" role="group" aria-label=${label}>
      <svg
        viewBox="0 0 ${width} ${TOP + HEIGHT + BOTTOM}"
        preserveAspectRatio="xMinYMid meet"
        role="img"
        aria-label=${label}
      >
        ${ticks.map(
          (value) => svg`<g class="chart-tick">
            <line x1=${LEFT} x2=${width - RIGHT} y1=${y(value)} y2=${y(value)} />
            <text x=${LEFT - 8} y=${y(value) + 4} text-anchor="end">${figureText(value, measure)}</text>
          </g>`,
        )}
        ${days.map((day, index) => dayBar(day, { x: LEFT + index * DAY_WIDTH, y, names, measure }))}
        ${days.map((day, index) => dayName(day, index, days.length))}
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
 * @param {{ x: number, y: (value: number) => number, names: readonly string[], measure: Measure }} place
 */
function dayBar({ day, pieces }, { x, y, names, measure }) {
  let below = 0;
  return pieces.map(({ modelName, value }) => {
    const top = y(below + value);
    const height = Math.max(1, y(below) - top);
    below += value;
    const colour = (names.indexOf(modelName) % COLOURS) + 1;
    return svg`<rect class="chart-bar chart-${colour}" x=${x + 4} y=${top} width=${DAY_WIDTH - 8} height=${height} rx="1.5">
      <title>${formatDay(day)}: ${modelName}, ${figureText(value, measure)}</title>
    </rect>`;
  });
}

/**
 * @param {DayBar} day
 * @param {number} index
 * @param {number} count
 */
function dayName({ day }, index, count) {
  const every = Math.ceil(count / 10);
  if ((count - 1 - index) % every !== 0) return svg``;
  const x = LEFT + index * DAY_WIDTH + DAY_WIDTH / 2;
  const anchor = index === 0 ? 'start' : 'middle';
  return svg`<text class="chart-day" x=${x} y=${TOP + HEIGHT + 18} text-anchor=${anchor}>${formatDay(day)}</text>`;
}

/**
 * @param {number} value
 * @param {Measure} measure
 */
export function figureText(value, measure) {
  return measure === 'cost' ? formatCost(value) : formatCount(value);
}
