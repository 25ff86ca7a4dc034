/** The only module that imports lit-html. */

import { repeat as repeatItems } from '../vendor/lit-html/directives/repeat.js';

export { html, nothing, render, svg } from '../vendor/lit-html/lit-html.js';
export { classMap } from '../vendor/lit-html/directives/class-map.js';
export { guard } from '../vendor/lit-html/directives/guard.js';
export { keyed } from '../vendor/lit-html/directives/keyed.js';
export { live } from '../vendor/lit-html/directives/live.js';
export { createRef, ref } from '../vendor/lit-html/directives/ref.js';
export { when } from '../vendor/lit-html/directives/when.js';

/**
 * lit-html's own, with types: the vendored files have none.
 *
 * @type {<Item>(
 *   items: Iterable<Item>,
 *   key: (item: Item, index: number) => unknown,
 *   template: (item: Item, index: number) => unknown,
 * ) => unknown}
 */
export const repeat = /** @type {any} */ (repeatItems);
