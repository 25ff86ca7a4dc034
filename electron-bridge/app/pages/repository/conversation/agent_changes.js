/** What an agent has done to files, and undoing it. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { hasRunCommands } from './agent_run.js';

/** @typedef {import('./agent_run.js').AgentRun} AgentRun */

const KINDS = new Set(['changed', 'created', 'deleted', 'folders']);
const STATES = new Set(['restored', 'removed', 'kept']);

/**
 * @param {AgentRun} run
 * @param {{ undo: (() => void) | null, openFile: (filePath: string) => void }} act
 *   `undo`: null while a turn is running
 */
export function agentChanges(run, { undo, openFile }) {
  if (run.changes.length === 0) return nothing;
  return html`<section class="changes" aria-label=${t('changes.title')}>
    <div class="changes-head">
      <h3>${t('changes.count', { count: run.changes.length })}</h3>
      ${
        run.undone
          ? nothing
          : html`<button
              class="button small"
              type="button"
              ?disabled=${!undo}
              @click=${() => undo?.()}
            >
              ${icon('undo')} ${t('changes.undo')}
            </button>`
      }
    </div>
    ${run.undone ? undoneList(run.undone) : changedList(run, openFile)}
    ${
      hasRunCommands(run)
        ? html`<p class="faint">
            ${t(run.undone ? 'changes.commands.undone' : 'changes.commands')}
          </p>`
        : nothing
    }
  </section>`;
}

/**
 * @param {AgentRun} run
 * @param {(filePath: string) => void} openFile
 */
function changedList({ changes }, openFile) {
  return html`<ul class="changes-list">
    ${changes.map(
      ({ filePath, kind }) =>
        html`<li>
          <span class="change-kind">${t(`changes.${KINDS.has(kind) ? kind : 'changed'}`)}</span>
          ${
            kind === 'changed' || kind === 'created'
              ? html`<button class="excerpt path" type="button" @click=${() => openFile(filePath)}>
                  ${filePath}
                </button>`
              : html`<span class="path">${filePath}</span>`
          }
        </li>`,
    )}
  </ul>`;
}

/** @param {import('./agent_run.js').UndoneEntry[]} undone */
function undoneList(undone) {
  return html`<p>${t('changes.undone')}</p>
    <ul class="changes-list">
      ${undone.map(
        ({ filePath, state, reason }) =>
          html`<li class=${state === 'kept' ? 'kept' : ''}>
            <span class="change-kind">
              ${icon(state === 'kept' ? 'warning' : 'check')}
              ${t(`changes.${STATES.has(state) ? state : 'kept'}`)}
            </span>
            <span class="path">${filePath}</span>
            ${reason ? html`<span class="change-reason">${reason}</span>` : nothing}
          </li>`,
      )}
    </ul>`;
}
