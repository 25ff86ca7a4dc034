/** The question of an agent at the bottom of the page, and its answers where a thumb reaches them. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { wholeInput } from '../../repository/conversation/tool_text.js';

/** @typedef {import('../sessions/session_record.js').PermissionRequest} PermissionRequest */

/**
 * @typedef {object} PermissionReply
 * @property {boolean} isAllowed
 * @property {boolean} [isForTurn]
 * @property {string} [optionId] of a foreign agent
 */

/**
 * @param {PermissionRequest} request
 * @param {{ count: number, isAnswering: boolean, isReady: boolean }} state
 *   `isReady`: the buttons have been there long enough not to be pressed by mistake
 * @param {{ answer: (reply: PermissionReply) => void, stop: () => void }} act
 */
export function permissionBar(request, { count, isAnswering, isReady }, act) {
  const kind = request.danger === 'deletes' ? 'deletes' : 'runs';
  const isDisabled = isAnswering || !isReady;
  return html`<section
    class="permission-bar"
    aria-label=${t('permission.label')}
    data-request=${request.id}
  >
    <p class="permission-text">
      ${icon('question')} <span>${t(`agents.permission.${kind}`, { tool: request.tool })}</span>
      ${
        count > 1
          ? html`<span class="badge warn"
              >${t('agents.permission.more', { count: count - 1 })}</span
            >`
          : nothing
      }
    </p>
    <pre class="permission-what" tabindex="0"><code>${wholeInput(request.arguments)}</code></pre>
    ${
      request.options.length > 0
        ? offered(request, isDisabled, act.answer)
        : own(kind, isDisabled, act.answer)
    }
    <div class="permission-more">
      ${
        request.options.length > 0
          ? nothing
          : html`<button
              class="button quiet"
              type="button"
              ?disabled=${isDisabled}
              @click=${() => act.answer({ isAllowed: true, isForTurn: true })}
            >
              ${t(`permission.turn.${kind}`)}
            </button>`
      }
      <button class="button quiet" type="button" @click=${act.stop}>
        ${icon('stop')} ${t('agents.stop')}
      </button>
    </div>
  </section>`;
}

/**
 * @param {'deletes' | 'runs'} kind
 * @param {boolean} isDisabled
 * @param {(reply: PermissionReply) => void} answer
 */
function own(kind, isDisabled, answer) {
  const allow = kind === 'deletes' ? 'danger' : 'primary';
  return html`<div class="permission-answers">
    <button
      class="button big"
      type="button"
      ?disabled=${isDisabled}
      @click=${() => answer({ isAllowed: false })}
    >
      ${icon('close')} ${t('permission.deny')}
    </button>
    <button
      class="button big ${allow}"
      type="button"
      ?disabled=${isDisabled}
      @click=${() => answer({ isAllowed: true })}
    >
      ${icon('check')} ${t('permission.allow')}
    </button>
  </div>`;
}

/**
 * @param {PermissionRequest} request
 * @param {boolean} isDisabled
 * @param {(reply: PermissionReply) => void} answer
 */
function offered({ options }, isDisabled, answer) {
  return html`<div class="permission-answers">
    ${options.map(({ id, name, kind }) => {
      const isAllowed = kind.startsWith('allow');
      return html`<button
        class="button big ${kind === 'allow_once' ? 'primary' : ''}"
        type="button"
        ?disabled=${isDisabled}
        @click=${() => answer({ isAllowed, isForTurn: kind === 'allow_always', optionId: id })}
      >
        ${icon(isAllowed ? 'check' : 'close')} ${name}
      </button>`;
    })}
  </div>`;
}
