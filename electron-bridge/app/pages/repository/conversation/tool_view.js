/** One use of a tool: a row that says what and how it went; opened, its input and output. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { beginning, diffLines, shortArgument, shownInput, wholeInput } from './tool_text.js';

/** @typedef {import('./agent_run.js').ToolItem} ToolItem */
/** @typedef {{ isOpen: boolean, isWhole: boolean, number: number }} Held */

/**
 * @typedef {object} ToolActions
 * @property {() => void} toggle
 * @property {() => void} showAll
 * @property {((decision: 'allow' | 'allowTurn' | 'deny') => void) | null} decide null: elsewhere
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
      <span class="tool-status ${status}">${sign(status)} ${t(`tool.${status}`)}</span>
    </button>
    ${status === 'asking' && act.decide ? permission(tool, act.decide) : nothing}
    <div class="tool-inside" id=${id} ?hidden=${!held.isOpen}>
      ${held.isOpen ? inside(tool, held, act) : nothing}
    </div>`;
}

/** @param {ToolItem['status']} status */
function sign(status) {
  if (status === 'running') return html`<span class="spinner" aria-hidden="true"></span>`;
  return icon(SIGNS[status]);
}

/**
 * The question has the focus, not one of its answers: a key that was meant for something else must
 * not allow anything.
 *
 * @param {ToolItem} tool
 * @param {NonNullable<ToolActions['decide']>} decide
 */
function permission({ name, input, danger }, decide) {
  const kind = danger === 'deletes' ? 'deletes' : 'runs';
  return html`<div
    class="permission"
    role="group"
    tabindex="-1"
    aria-label=${t('permission.label')}
  >
    <p class="permission-text">${t(`permission.${kind}`, { tool: name })}</p>
    <pre class="permission-what" tabindex="0"><code>${wholeInput(input)}</code></pre>
    <div class="permission-acts">
      <button class="button small primary" type="button" @click=${() => decide('allow')}>
        ${t('permission.allow')}
      </button>
      <button class="button small" type="button" @click=${() => decide('deny')}>
        ${t('permission.deny')}
      </button>
      <button class="button small quiet" type="button" @click=${() => decide('allowTurn')}>
        ${t(`permission.turn.${kind}`)}
      </button>
    </div>
  </div>`;
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
