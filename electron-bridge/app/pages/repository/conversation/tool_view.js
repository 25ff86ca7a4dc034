/** One use of a tool: a row that says what and how it went; opened, its input and output. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { diffView } from './diff_view.js';
import { permissionView } from './permission_view.js';
import { beginning, countChanges, shortArgument, shownInput } from './tool_text.js';

/** @typedef {import('./agent_run.js').ToolItem} ToolItem */
/** @typedef {{ isOpen: boolean, isWhole: boolean, number: number, rejected: Set<number> }} Held */

/**
 * @typedef {object} ToolActions
 * @property {() => void} toggle
 * @property {() => void} showAll
 * @property {((decision: import('./agent_body.js').Decision, hunks?: number[]) => void) | null} decide
 *   null: elsewhere
 * @property {(number: number, isAccepted: boolean) => void} setHunk
 * @property {(filePath: string) => void} openFile
 */

const SIGNS = Object.freeze(
  /** @type {const} */ ({
    asking: 'question',
    success: 'check',
    error: 'warning',
    denied: 'close',
    stopped: 'stop',
  }),
);

/**
 * @param {ToolItem} tool
 * @param {Held} held
 * @param {ToolActions} act
 */
export function toolView(tool, held, act) {
  const { name, input, status } = tool;
  const id = `tool-${held.number}`;
  return html`<button
      class="tool-toggle"
      type="button"
      aria-expanded=${String(held.isOpen)}
      aria-controls=${id}
      @click=${act.toggle}
    >
      ${icon(held.isOpen ? 'chevron-down' : 'chevron-right')}
      <span class="tool-name">${name}</span>
      <span class="tool-argument">${shortArgument(input)}</span>
      ${changeCounts(tool.diff)}
      <span class="tool-status ${status}">${sign(status)} ${t(`tool.${status}`)}</span>
    </button>
    ${status === 'asking' && act.decide ? permissionView(tool, held, act) : nothing}
    <div class="tool-inside" id=${id} ?hidden=${!held.isOpen}>
      ${held.isOpen ? inside(tool, held, act) : nothing}
    </div>`;
}

/** @param {ToolItem['status']} status */
function sign(status) {
  if (status === 'running') return html`<span class="spinner" aria-hidden="true"></span>`;
  return icon(SIGNS[status]);
}

/** @param {string} diff */
function changeCounts(diff) {
  const counts = diff ? countChanges(diff) : null;
  if (!counts) return nothing;
  const { added, removed } = counts;
  return html`<span class="tool-counts" aria-label=${t('tool.counts', { added, removed })}>
    <span class="added" aria-hidden="true">+${added}</span>
    <span class="removed" aria-hidden="true">−${removed}</span>
  </span>`;
}

/**
 * @param {ToolItem} tool
 * @param {Held} held
 * @param {ToolActions} act
 */
function inside({ name, input, output, diff, status }, held, act) {
  const isEdit = diff !== '';
  return html`${isEdit ? changed(input, diff, held, act) : given(input)}
  ${
    output && !isEdit
      ? html`<p class="tool-part">${t(status === 'error' ? 'tool.problem' : 'tool.output')}</p>
          ${long(output, held, act, name)}`
      : nothing
  }
  ${!output && status === 'running' ? html`<p class="faint">${t('tool.waiting')}</p>` : nothing}`;
}

/** @param {Record<string, unknown>} input */
function given(input) {
  const shown = shownInput(input);
  if (shown.length === 0) return nothing;
  return html`<p class="tool-part">${t('tool.input')}</p>
    <dl class="tool-input">
      ${shown.map(({ name, value }) => {
        const { text, isCut } = beginning(value);
        return html`<dt>${name}</dt>
          <dd>${text}${isCut ? '…' : ''}</dd>`;
      })}
    </dl>`;
}

/**
 * @param {Record<string, unknown>} input
 * @param {string} diff
 * @param {Held} held
 * @param {ToolActions} act
 */
function changed(input, diff, held, { showAll, openFile }) {
  const { text, isCut, lines } = held.isWhole
    ? { text: diff, isCut: false, lines: 0 }
    : beginning(diff);
  const filePath = typeof input.path === 'string' ? input.path : '';
  return html`<p class="tool-part">
      ${t('tool.changed')}
      ${
        filePath
          ? html`<button
              class="button small quiet"
              type="button"
              @click=${() => openFile(filePath)}
            >
              ${icon('file')} ${t('tool.openFile')}
            </button>`
          : nothing
      }
    </p>
    ${diffView(text, t('tool.changed'))} ${isCut ? all(lines, showAll) : nothing}`;
}

/**
 * @param {string} output
 * @param {Held} held
 * @param {ToolActions} act
 * @param {string} name
 */
function long(output, held, { showAll }, name) {
  const { text, isCut, lines } = held.isWhole
    ? { text: output, isCut: false, lines: 0 }
    : beginning(output);
  return html`<pre
      class="tool-output"
      tabindex="0"
      aria-label="${name}: ${t('tool.output')}"
    ><code>${text}</code></pre>
    ${isCut ? all(lines, showAll) : nothing}`;
}

/**
 * @param {number} lines
 * @param {() => void} showAll
 */
function all(lines, showAll) {
  return html`<button class="button small quiet" type="button" @click=${showAll}>
    ${t('tool.all', { count: lines })}
  </button>`;
}
