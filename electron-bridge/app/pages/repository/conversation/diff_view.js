/** A unified diff, its lines coloured by what they mean. */

import { html } from '../../common/lit.js';
import { diffLines } from './tool_text.js';

/**
 * @param {string} diff
 * @param {string} label
 */
export function diffView(diff, label) {
  return html`<pre
    class="tool-output"
    tabindex="0"
    aria-label=${label}
  ><code class="diff">${diffLines(diff).map(
    ({ kind, text }) => html`<span class="diff-line ${kind}">${text} </span>`,
  )}</code></pre>`;
}
