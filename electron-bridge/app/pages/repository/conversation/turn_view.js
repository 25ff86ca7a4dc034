/** One question and its answer, as a template. */

import { copyText } from '../../common/copy_text.js';
import { formatTime } from '../../common/format.js';
import { opensPage, pageAddress } from '../../common/navigation.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { toastFailure } from '../../common/toast.js';
import { agentChanges } from './agent_changes.js';
import { waitingTool } from './agent_run.js';
import { formatMoney } from './models.js';
import { rounds } from './rounds.js';
import { sourcesOf } from './sources.js';
import { explainTurn } from './turn_failure.js';
import { isRunning } from './turns.js';

/** @typedef {import('./turns.js').Turn} Turn */

/**
 * @typedef {object} TurnActions
 * @property {(excerpt: import('../../../../types/protocol.d.ts').ResultContent) => void} openExcerpt
 * @property {((turn: Turn) => void) | null} askAgain null while another turn is running
 * @property {((turn: Turn) => void) | null} undo null while another turn is running
 * @property {(filePath: string) => void} openFile
 * @property {((turn: Turn) => void) | null} regenerate null while another turn is running
 * @property {((turn: Turn) => void) | null} edit
 * @property {((turn: Turn) => void) | null} fork
 * @property {(turn: Turn) => void} showSources
 * @property {import('./models.js').ModelFacts} facts
 */

/**
 * @param {import('./conversation.js').Shown} shown
 * @param {TurnActions} actions
 */
export function turnView({ turn, body, work }, actions) {
  const { agent } = turn;
  const { undo, openFile } = actions;
  return html`<article class="turn">
    <div class="question">
      <h3 class="visually-hidden">${t('turn.question')}</h3>
      <p class="question-text">${turn.query}</p>
      <p class="faint question-foot">
        ${turn.modelName ? `${turn.modelName} · ` : ''}${formatTime(turn.time)}
        ${
          isRunning(turn) || !actions.edit
            ? nothing
            : html`<button
                class="button small quiet"
                type="button"
                title=${t('turn.edit.hint')}
                @click=${() => actions.edit?.(turn)}
              >
                ${t('turn.edit')}
              </button>`
        }
      </p>
    </div>
    ${agent ? nothing : rounds(turn, actions.openExcerpt)}
    <div class="answer">
      <h3 class="visually-hidden">${t('turn.answer')}</h3>
      ${agent ? work.element : nothing}
      ${turn.state === 'asking' || (isRunning(turn) && !turn.answer) ? waiting(turn) : nothing}
      ${agent ? nothing : body.element} ${outcome(turn, actions.askAgain)}
      ${
        agent && !isRunning(turn)
          ? agentChanges(agent, { undo: undo && (() => undo(turn)), openFile })
          : nothing
      }
      ${turn.unsaved ? unsavedNotice(turn.unsaved, turn.answer) : nothing} ${foot(turn, actions)}
    </div>
  </article>`;
}

/** @param {Turn} turn */
function waiting({ state, rounds: made, agent }) {
  if (agent && state !== 'asking') return working(agent);
  const isSearching = made.at(-1)?.isOpen;
  const key = state === 'asking' ? 'turn.asking' : isSearching ? 'turn.searching' : 'turn.thinking';
  return html`<p class="answer-waiting muted">
    <span class="spinner" aria-hidden="true"></span> ${t(key)}
  </p>`;
}

/** @param {import('./agent_run.js').AgentRun} agent */
function working(agent) {
  const isAsking = waitingTool(agent) !== undefined;
  return html`<p class="answer-waiting muted">
    ${isAsking ? icon('question') : html`<span class="spinner" aria-hidden="true"></span>`}
    ${t(isAsking ? 'turn.permission' : 'turn.working')}
  </p>`;
}

/**
 * @param {Turn} turn
 * @param {TurnActions['askAgain']} askAgain
 */
function outcome(turn, askAgain) {
  const { state } = turn;
  if (isRunning(turn) || state === 'done') return nothing;
  const again = askAgain
    ? html`<button class="button small" type="button" @click=${() => askAgain(turn)}>
        ${icon('refresh')} ${t('turn.again')}
      </button>`
    : nothing;
  if (state !== 'failed') {
    return html`<div class="notice outcome">
      <div class="notice-body">${t(`turn.${state}`)}</div>
      ${again}
    </div>`;
  }
  return failedView(turn, again);
}

/**
 * @param {Turn} turn
 * @param {unknown} again the button
 */
function failedView(turn, again) {
  const { kind, action, detail } = explainTurn(turn);
  return html`<div class="notice failure outcome" role="alert" data-kind=${kind}>
    <div class="notice-body">
      <p class="notice-title">${t(`turn.failed.${kind}`)}</p>
      ${
        detail
          ? html`<details class="notice-more">
              <summary>${t('turn.failed.why')}</summary>
              <p class="notice-detail">${detail}</p>
            </details>`
          : nothing
      }
    </div>
    ${action === 'again' ? again : pageLink(action)}
  </div>`;
}

/** @param {'settings' | 'repos'} page */
function pageLink(page) {
  return html`<a
    class="button small"
    href=${pageAddress(page)}
    @click=${opensPage(page, { failed: toastFailure })}
    >${t(page === 'settings' ? 'turn.settings' : 'turn.repos')}</a
  >`;
}

/**
 * @param {string} reason what the kernel says of the disk
 * @param {string} answer
 */
function unsavedNotice(reason, answer) {
  return html`<div class="notice warn outcome" role="alert">
    <div class="notice-body">
      <p class="notice-title" title=${reason}>${t('turn.unsaved')}</p>
    </div>
    <button class="button small" type="button" @click=${() => copyText(answer)}>
      ${icon('copy')} ${t('turn.copy')}
    </button>
  </div>`;
}

/**
 * @param {Turn} turn
 * @param {TurnActions} actions
 */
function foot(turn, { regenerate, fork, showSources, facts }) {
  const { answer, usage, masked, agent } = turn;
  if (isRunning(turn) || (!answer && !usage)) return nothing;
  const cost = facts.costOf(turn.modelName, usage);
  const sources = agent ? 0 : sourcesOf(turn).length;
  return html`<footer class="answer-foot">
    ${
      sources > 0
        ? html`<button class="button small quiet" type="button" @click=${() => showSources(turn)}>
            ${icon('file')} ${t('sources.count', { count: sources })}
          </button>`
        : nothing
    }
    ${
      answer
        ? html`<button class="button small quiet" type="button" @click=${() => copyText(answer)}>
            ${icon('copy')} ${t('turn.copy')}
          </button>`
        : nothing
    }
    ${
      regenerate && !agent
        ? html`<button class="button small quiet" type="button" @click=${() => regenerate(turn)}>
            ${icon('refresh')} ${t('turn.regenerate')}
          </button>`
        : nothing
    }
    ${
      fork
        ? html`<button
            class="button small quiet"
            type="button"
            title=${t('turn.fork.hint')}
            @click=${() => fork(turn)}
          >
            ${icon('plus')} ${t('turn.fork')}
          </button>`
        : nothing
    }
    ${
      usage
        ? html`<span
            class="faint"
            title=${usage.exact ? t('turn.usage.exact') : t('turn.usage.about')}
          >
            ${t('turn.usage', { input: usage.input_token, output: usage.output_token })}${
              cost === null ? nothing : html` · ${formatMoney(cost, facts.currency)}`
            }
          </span>`
        : nothing
    }
    ${
      masked > 0
        ? html`<span class="badge warn" title=${t('turn.masked.hint')}>
            ${icon('key')} ${t('turn.masked', { count: masked })}
          </span>`
        : nothing
    }
  </footer>`;
}
