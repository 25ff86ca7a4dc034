/** The icons of the pages: strokes on a grid of 16, in the colour of the text around them. */

import { html, svg } from './lit.js';

const SHAPES = Object.freeze({
  bell: svg`<path d="M3 11.5h10c-1-1-1.4-2-1.4-4.2a3.6 3.6 0 0 0-7.2 0C4.4 9.5 4 10.5 3 11.5zM6.7 13.6a1.4 1.4 0 0 0 2.6 0" />`,
  'bell-off': svg`<path d="M4.3 8c-.1 2-.6 2.7-1.3 3.5h8.2M11.6 8.5V7.3a3.6 3.6 0 0 0-5.9-2.7M6.7 13.6a1.4 1.4 0 0 0 2.6 0M2.5 2.5l11 11" />`,
  check: svg`<path d="M3 8.5l3.2 3.2L13 4.8" />`,
  'chevron-down': svg`<path d="M4 6l4 4 4-4" />`,
  'chevron-left': svg`<path d="M10 4l-4 4 4 4" />`,
  'chevron-right': svg`<path d="M6 4l4 4-4 4" />`,
  'chevron-up': svg`<path d="M4 10l4-4 4 4" />`,
  close: svg`<path d="M4 4l8 8M12 4l-8 8" />`,
  copy: svg`<rect x="5.5" y="5.5" width="8" height="8" rx="1.5" /><path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2" />`,
  diff: svg`<path d="M8 2.2v6.6M4.7 5.5h6.6M4.7 12.8h6.6" />`,
  external: svg`<path d="M9.5 2.5h4v4M13.3 2.7L7.5 8.5M12 9.5v3a1 1 0 0 1-1 1H3.5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1h3" />`,
  file: svg`<path d="M4 1.8h5l3.5 3.5v8.2a.8.8 0 0 1-.8.8H4a.8.8 0 0 1-.8-.8V2.6a.8.8 0 0 1 .8-.8zM9 2v3.5h3.3" />`,
  folder: svg`<path d="M1.8 12.2V3.8a1 1 0 0 1 1-1h3.4l1.6 1.8h5.4a1 1 0 0 1 1 1v6.6a1 1 0 0 1-1 1H2.8a1 1 0 0 1-1-1z" />`,
  graph: svg`<circle cx="3.5" cy="8" r="1.7" /><circle cx="12.5" cy="3.7" r="1.7" /><circle cx="12.5" cy="12.3" r="1.7" /><path d="M5.1 7.2l5.8-2.8M5.1 8.8l5.8 2.8" />`,
  info: svg`<circle cx="8" cy="8" r="6.2" /><path d="M8 7.3v3.6M8 5v.1" />`,
  key: svg`<circle cx="5.2" cy="10.8" r="2.9" /><path d="M7.3 8.7l6-6M11 5l1.8 1.8M9.2 6.8l1.2 1.2" />`,
  monitor: svg`<rect x="1.8" y="2.8" width="12.4" height="8.4" rx="1" /><path d="M5.5 13.5h5M8 11.2v2.3" />`,
  moon: svg`<path d="M13.2 9.6A5.7 5.7 0 0 1 6.4 2.8a5.7 5.7 0 1 0 6.8 6.8z" />`,
  pause: svg`<path d="M5.5 3.5v9M10.5 3.5v9" />`,
  question: svg`<circle cx="8" cy="8" r="6.2" /><path d="M6.2 6.4a1.9 1.9 0 1 1 2.6 1.7c-.5.2-.8.6-.8 1.1M8 11.2v.1" />`,
  play: svg`<path d="M5 3.2l7.5 4.8L5 12.8z" />`,
  plus: svg`<path d="M8 3.2v9.6M3.2 8h9.6" />`,
  refresh: svg`<path d="M13.2 6.5A5.5 5.5 0 0 0 3.4 5M2.8 9.5a5.5 5.5 0 0 0 9.8 1.5M3.2 2.2V5H6M12.8 13.8V11H10" />`,
  search: svg`<circle cx="7" cy="7" r="4.5" /><path d="M10.4 10.4l3.3 3.3" />`,
  settings: svg`<path d="M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6" /><circle cx="10" cy="4.5" r="1.8" /><circle cx="6" cy="11.5" r="1.8" />`,
  star: svg`<path d="M8 2l1.9 3.9 4.2.6-3 3 .7 4.2L8 11.7l-3.8 2 .7-4.2-3-3 4.2-.6z" />`,
  stop: svg`<rect x="4" y="4" width="8" height="8" rx="1" />`,
  sun: svg`<circle cx="8" cy="8" r="2.8" /><path d="M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1" />`,
  trash: svg`<path d="M2.5 4.2h11M6 4V2.5h4V4M4 4.2l.6 9a.8.8 0 0 0 .8.8h5.2a.8.8 0 0 0 .8-.8l.6-9M6.7 7v4.2M9.3 7v4.2" />`,
  undo: svg`<path d="M6 3L2.8 6.2 6 9.4M3 6.2h6.2a3.6 3.6 0 0 1 0 7.2H6.5" />`,
  warning: svg`<path d="M8 2.2l6.2 11H1.8zM8 6.6v3M8 11.4v.1" />`,
});

/** @typedef {keyof typeof SHAPES} IconName */

/** @param {IconName} name the text beside it says what it means */
export function icon(name) {
  return html`<svg class="icon-shape" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    ${SHAPES[name]}
  </svg>`;
}
