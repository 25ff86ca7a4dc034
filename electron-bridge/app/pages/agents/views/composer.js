/** Where a message is written, and those that still wait: for the hub, or for the agent. */

import { composerForm } from '../../common/composer_form.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing, repeat } from '../../common/lit.js';
import { explainHubFailure } from '../hub/hub_failure.js';

/** @typedef {import('../sessions/message_log.js').LoggedMessage} LoggedMessage */
/** @typedef {import('../sessions/outbox.js').OutgoingMessage} OutgoingMessage */

/**
 * @param {{ draft: string, isThinking: boolean, isStopping: boolean }} state
 * @param {{ write: (draft: string) => void, send: () => void, stop: () => void }} act
 */
export function composer({ draft, isThinking, isStopping }, act) {
  const field = {
    id: 'message',
    label: t('agents.message'),
    placeholder: t(isThinking ? 'agents.message.queue' : 'agents.message.placeholder'),
    rows: 1,
    draft,
  };
  return composerForm(
    field,
    act,
    html`<div class="composer-acts">
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
    </div>`,
  );
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
