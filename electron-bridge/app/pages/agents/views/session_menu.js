/** What can be done with a session beside talking to its agent: a sheet of choices. */

import { confirmDialog, formActions, openDialog } from '../../common/dialog.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { toast } from '../../common/toast.js';
import { sessionPath } from '../hub/hub_client.js';
import { explainHubFailure } from '../hub/hub_failure.js';
import { titleOf } from '../sessions/notices.js';

/** @typedef {import('../sessions/session_record.js').SessionRecord} SessionRecord */
/** @typedef {import('../hub/hub_client.js').HubClient} HubClient */

const MODES = Object.freeze(['default', 'read-only', 'yolo']);

/**
 * @param {SessionRecord} session
 * @param {HubClient} client
 * @returns {Promise<void>}
 */
export async function openSessionMenu(session, client) {
  const path = sessionPath(session.id);
  /** @type {string | undefined} */
  const choice = await openDialog({
    title: titleOf(session),
    body: ({ close }) => menu(session, close),
  });
  if (!choice) return;
  const [act, value] = choice.split(':');
  try {
    if (act === 'rename') await rename(session, client);
    else if (act === 'mode') await setMode(value, path, client);
    else if (act === 'archive') await client.post(`${path}/archive`);
    else if (act === 'reopen') await client.post(`${path}/reopen`);
    else if (act === 'delete') await remove(session, client);
  } catch (failure) {
    toast(explainHubFailure(failure), { kind: 'failure' });
  }
}

/**
 * @param {SessionRecord} session
 * @param {(choice?: string) => void} close
 */
function menu({ isArchived, permissionMode, folder, host, agent }, close) {
  return html`<p class="hint sheet-where">${agent} · ${host} · ${folder}</p>
    <div class="sheet">
      <button class="button" type="button" autofocus @click=${() => close('rename')}>
        ${t('agents.rename')}
      </button>
      ${
        isArchived
          ? nothing
          : html`<fieldset class="sheet-modes">
              <legend>${t('agents.mode')}</legend>
              ${MODES.map(
                (mode) =>
                  html`<label class="check">
                    <input
                      type="radio"
                      name="mode"
                      ?checked=${mode === permissionMode}
                      @change=${() => close(`mode:${mode}`)}
                    />
                    <span>${t(`agents.mode.${mode}`)}</span>
                  </label>`,
              )}
            </fieldset>`
      }
      ${
        isArchived
          ? html`<button class="button" type="button" @click=${() => close('reopen')}>
                ${icon('undo')} ${t('agents.reopen')}
              </button>
              <button class="button danger" type="button" @click=${() => close('delete')}>
                ${icon('trash')} ${t('agents.delete')}
              </button>`
          : html`<button class="button" type="button" @click=${() => close('archive')}>
              ${icon('folder')} ${t('agents.archive')}
            </button>`
      }
      <button class="button quiet" type="button" @click=${() => close()}>${t('act.close')}</button>
    </div>`;
}

/**
 * @param {SessionRecord} session
 * @param {HubClient} client
 */
async function rename(session, client) {
  let name = titleOf(session);
  const isSaved = await openDialog({
    title: t('agents.rename'),
    body: ({ close }) =>
      html`<form
        class="stack"
        @submit=${(/** @type {Event} */ event) => {
          event.preventDefault();
          close(true);
        }}
      >
        <div class="field">
          <label for="session-name">${t('agents.rename.name')}</label>
          <input
            id="session-name"
            class="input"
            maxlength="255"
            required
            autofocus
            .value=${name}
            @input=${(/** @type {any} */ { target }) => (name = target.value)}
          />
        </div>
        ${formActions({ submit: t('agents.rename.save'), close })}
      </form>`,
  });
  if (isSaved && name.trim()) await client.patch(sessionPath(session.id), { name: name.trim() });
}

/**
 * @param {string} mode
 * @param {string} path
 * @param {HubClient} client
 */
async function setMode(mode, path, client) {
  if (mode === 'yolo') {
    const isSure = await confirmDialog({
      title: t('agents.mode.yolo'),
      text: t('agents.mode.yolo.text'),
      confirm: t('agents.mode.yolo.confirm'),
      danger: true,
    });
    if (!isSure) return;
  }
  await client.post(`${path}/permission-mode`, { mode });
}

/**
 * @param {SessionRecord} session
 * @param {HubClient} client
 */
async function remove(session, client) {
  const isSure = await confirmDialog({
    title: t('agents.delete.title'),
    text: t('agents.delete.text', { name: titleOf(session) }),
    confirm: t('agents.delete'),
    danger: true,
  });
  if (isSure) await client.delete(sessionPath(session.id));
}
