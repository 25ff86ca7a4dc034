/** Where a message is written, and those that still wait: for the hub, or for the agent. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, live, nothing, repeat } from '../../common/lit.js';
import { explainHubFailure } from '../hub/hub_failure.js';

/** @typedef {import('../sessions/message_log.js').LoggedMessage} LoggedMessage */
/** @typedef {import('../sessions/outbox.js').OutgoingMessage} OutgoingMessage */

/**
 * @param {{ draft: string, isThinking: boolean, isStopping: boolean }} state
 * @param {{ write: (draft: string) => void, send: () => void, stop: () => void }} act
 */
export function composer({ draft, isThinking, isStopping }, act) {
  return html`<form
    class="composer card"
    @submit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      act.send();
    }}
  >
    <label class="visually-hidden" for="message">${t('agents.message')}</label>
    <textarea
      id="message"
      class="composer-input"
      rows="1"
      maxlength="100000"
      enterkeyhint="send"
      placeholder=${t(isThinking ? 'agents.message.queue' : 'agents.message.placeholder')}
      .value=${live(draft)}
      @input=${(/** @type {any} */ { target }) => act.write(target.value)}
      @keydown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        act.send();
      }}
    ></textarea>
    <div class="composer-acts">
      ${
        isThinking
          ? html`<button class="button" type="button" ?disabled=${isStopping} @click=${act.stop}>
              ${isStopping ? html`<span class="spinner" aria-hidden="true"></span>` : icon('stop')}
              ${t('agents.stop')}
            </button>`
          : nothing
      }
      <button class="button primary" type="submit" ?disabled=${draft.trim() === ''}>
        ${t(isThinking ? 'agents.queue' : 'agents.send')}
      </button>
    </div>
  </form>`;
}

/**
 * @param {readonly LoggedMessage[]} queued the hub has them
 * @param {readonly OutgoingMessage[]} outgoing
 * @param {{
 *   cancel: (message: LoggedMessage) => void,
 *   discard: (localId: string) => void,
 *   retry: (localId: string) => void,
 * }} act
 */
export function queueView(queued, outgoing, act) {
  if (queued.length + outgoing.length === 0) return nothing;
  return html`<section class="queue" aria-label=${t('agents.waiting')}>
    <ul>
      ${repeat(
        queued,
        ({ id }) => id,
        (message) =>
          waiting(message.content?.content?.text ?? '', t('agents.queued'), {
            label: t('agents.cancel'),
            remove: () => act.cancel(message),
          }),
      )}
      ${repeat(
        outgoing,
        ({ localId }) => localId,
        ({ localId, text, state, failure }) =>
          waiting(
            text,
            state === 'refused' ? explainHubFailure(failure) : t(`agents.outgoing.${state}`),
            {
              label: t('agents.discard'),
              remove: state === 'sent' ? null : () => act.discard(localId),
              retry: state === 'refused' ? () => act.retry(localId) : null,
            },
          ),
      )}
    </ul>
  </section>`;
}

/**
 * @param {string} text
 * @param {string} status
 * @param {{ label: string, remove: (() => void) | null, retry?: (() => void) | null }} act
 */
function waiting(text, status, { label, remove, retry }) {
  return html`<li class="queued">
    <span class="queued-text">${text}</span>
    <span class="queued-status">${status}</span>
    ${
      retry
        ? html`<button class="button small" type="button" @click=${retry}>
            ${t('act.retry')}
          </button>`
        : nothing
    }
    ${
      remove
        ? html`<button
            class="button small quiet icon"
            type="button"
            aria-label="${label}: ${text.slice(0, 60)}"
            title=${label}
            @click=${remove}
          >
            ${icon('close')}
          </button>`
        : nothing
    }
  </li>`;
}
