/** The question whether an agent may do something; of an edit, which of its hunks. */

import { t } from '../../common/i18n.js';
import { html, live, nothing } from '../../common/lit.js';
import { diffView } from './diff_view.js';
import { splitHunks, wholeInput } from './tool_text.js';

/** @typedef {import('./agent_run.js').ToolItem} ToolItem */
/** @typedef {import('./tool_view.js').ToolActions} ToolActions */

const KINDS = new Set(['deletes', 'runs', 'writes']);

/**
 * The question has the focus, not one of its answers: a key that was meant for something else must
 * not allow anything.
 *
 * @param {ToolItem} tool
 * @param {{ rejected: Set<number>, number: number }} held
 * @param {ToolActions} act
 */
export function permissionView(tool, held, { decide, setHunk }) {
  if (!decide) return nothing;
  const kind = KINDS.has(tool.danger) ? tool.danger : 'runs';
  const hunks = kind === 'writes' ? splitHunks(tool.asked) : [];
  const accepted = hunks.flatMap((_, index) => (held.rejected.has(index) ? [] : [index]));
  const isPart = accepted.length < hunks.length;
  return html`<div
    class="permission"
    role="group"
    tabindex="-1"
    aria-label=${t('permission.label')}
  >
    <p class="permission-text">${t(`permission.${kind}`, { tool: tool.name })}</p>
    ${
      kind === 'writes'
        ? hunks.map((hunk, index) => hunkView(hunk, index, { hunks, held, setHunk }))
        : html`<pre
            class="permission-what"
            tabindex="0"
          ><code>${wholeInput(tool.input)}</code></pre>`
    }
    <div class="permission-acts">
      <button
        class="button small primary"
        type="button"
        ?disabled=${hunks.length > 0 && accepted.length === 0}
        @click=${() => decide('allow', isPart ? accepted : undefined)}
      >
        ${
          isPart
            ? t('permission.accept.some', { count: accepted.length, all: hunks.length })
            : t(kind === 'writes' ? 'permission.accept' : 'permission.allow')
        }
      </button>
      <button class="button small" type="button" @click=${() => decide('deny')}>
        ${t(kind === 'writes' ? 'permission.reject' : 'permission.deny')}
      </button>
      <button class="button small quiet" type="button" @click=${() => decide('allowTurn')}>
        ${t(`permission.turn.${kind}`)}
      </button>
      ${
        tool.rule && kind !== 'writes'
          ? html`<button
              class="button small quiet"
              type="button"
              title=${tool.rule}
              @click=${() => decide('allowRule')}
            >
              ${t(`permission.rule.${kind}`, { rule: tool.rule })}
            </button>`
          : nothing
      }
    </div>
  </div>`;
}

/**
 * @param {string} hunk
 * @param {number} index
 * @param {{ hunks: string[], held: { rejected: Set<number> }, setHunk: ToolActions['setHunk'] }} of
 */
function hunkView(hunk, index, { hunks, held, setHunk }) {
  const label = t('permission.hunk', { number: index + 1, count: hunks.length });
  if (hunks.length === 1) return diffView(hunk, label);
  return html`<div class="permission-hunk">
    <label class="check">
      <input
        type="checkbox"
        .checked=${live(!held.rejected.has(index))}
        @change=${(/** @type {any} */ { target }) => setHunk(index, target.checked)}
      />
      ${label}
    </label>
    ${diffView(hunk, label)}
  </div>`;
}
