/** Start a session: machine, one of its folders, agent, first message. */

import { formActions, openDialog } from '../../common/dialog.js';
import { t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';
import { readPreference, savePreference } from '../../common/preferences.js';
import { explainHubFailure, HubFailure } from '../hub/hub_failure.js';

/** @typedef {import('../sessions/session_store.js').Machine} Machine */

const LAST = 'hub.lastStart';

/**
 * @param {readonly Machine[]} machines
 * @param {import('../hub/hub_client.js').HubClient} client
 * @returns {Promise<{ sessionId: string, text: string } | undefined>}
 */
export function openStartDialog(machines, client) {
  const chosen = chooseFirst(machines);
  // The same for every attempt, so that one whose answer was lost does not start a second session.
  const tag = `page-${Date.now()}-${Math.random().toString(36).slice(2)}`;
  let isBusy = false;
  let problem = '';
  return openDialog({
    title: t('agents.start'),
    wide: true,
    body: ({ close, draw }) => {
      const machine = machines.find(({ id }) => id === chosen.machineId);
      const submit = async (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        isBusy = true;
        problem = '';
        draw();
        try {
          const sessionId = await spawn(client, { ...chosen, tag });
          savePreference(LAST, JSON.stringify({ ...chosen, text: '' }));
          close({ sessionId, text: chosen.text.trim() });
        } catch (failure) {
          isBusy = false;
          problem = explainHubFailure(failure);
          draw();
        }
      };
      const change = (/** @type {Partial<typeof chosen>} */ part) => {
        Object.assign(chosen, part);
        if (part.machineId) Object.assign(chosen, firstOf(machines, part.machineId));
        draw();
      };
      return html`<form class="stack" @submit=${submit}>
        ${machines.length > 1 ? machineField(machines, chosen.machineId, change) : nothing}
        ${folderField(machine, chosen.folder, change)} ${agentField(machine, chosen.agent, change)}
        <div class="field">
          <label for="start-text">${t('agents.start.message')}</label>
          <textarea
            id="start-text"
            class="input"
            rows="4"
            maxlength="100000"
            placeholder=${t('agents.start.placeholder')}
            .value=${chosen.text}
            @input=${(/** @type {any} */ { target }) => (chosen.text = target.value)}
          ></textarea>
        </div>
        ${problem ? html`<p class="field-problem" role="alert">${problem}</p>` : nothing}
        ${formActions({
          submit: t('agents.start.submit'),
          busy: isBusy || !chosen.folder,
          close,
        })}
      </form>`;
    },
  });
}

/**
 * @param {readonly Machine[]} machines
 * @param {string} machineId
 * @param {(part: { machineId: string }) => void} change
 */
function machineField(machines, machineId, change) {
  return html`<div class="field">
    <label for="start-machine">${t('agents.start.machine')}</label>
    <select
      id="start-machine"
      class="select"
      @change=${(/** @type {any} */ { target }) => change({ machineId: target.value })}
    >
      ${machines.map(
        ({ id, host }) => html`<option value=${id} ?selected=${id === machineId}>${host}</option>`,
      )}
    </select>
  </div>`;
}

/**
 * @param {Machine | undefined} machine
 * @param {string} folder
 * @param {(part: { folder: string }) => void} change
 */
function folderField(machine, folder, change) {
  if (!machine?.folders.length) {
    return html`<p class="notice warn">${t('agents.start.noFolders')}</p>`;
  }
  return html`<div class="field">
    <label for="start-folder">${t('agents.start.folder')}</label>
    <select
      id="start-folder"
      class="select"
      @change=${(/** @type {any} */ { target }) => change({ folder: target.value })}
    >
      ${machine.folders.map(
        (each) => html`<option value=${each} ?selected=${each === folder}>${each}</option>`,
      )}
    </select>
  </div>`;
}

/**
 * @param {Machine | undefined} machine
 * @param {string} agent
 * @param {(part: { agent: string }) => void} change
 */
function agentField(machine, agent, change) {
  const kinds = machine?.agents ?? [];
  if (kinds.length <= 1) return nothing;
  const reason = kinds.find(({ name }) => name === agent)?.unavailable;
  return html`<div class="field">
    <label for="start-agent">${t('agents.start.agent')}</label>
    <select
      id="start-agent"
      class="select"
      @change=${(/** @type {any} */ { target }) => change({ agent: target.value })}
    >
      ${kinds.map(
        ({ name, title, unavailable }) =>
          html`<option value=${name} ?selected=${name === agent} ?disabled=${unavailable !== ''}>
            ${title}
          </option>`,
      )}
    </select>
    ${reason ? html`<p class="field-problem">${reason}</p>` : nothing}
  </div>`;
}

/** @param {readonly Machine[]} machines what was chosen the last time, if it is still there */
function chooseFirst(machines) {
  let last;
  try {
    last = JSON.parse(readPreference(LAST) ?? '{}');
  } catch {
    last = {};
  }
  const machine = machines.find(({ id }) => id === last.machineId) ?? machines[0];
  const first = firstOf(machines, machine?.id ?? '');
  return {
    machineId: machine?.id ?? '',
    folder: machine?.folders.find((each) => each === last.folder) ?? first.folder,
    agent: machine?.agents.find(({ name }) => name === last.agent)?.name ?? first.agent,
    text: '',
  };
}

/**
 * @param {readonly Machine[]} machines
 * @param {string} machineId
 */
function firstOf(machines, machineId) {
  const machine = machines.find(({ id }) => id === machineId);
  const agent = machine?.agents.find(({ unavailable }) => !unavailable) ?? machine?.agents[0];
  return { folder: machine?.folders[0] ?? '', agent: agent?.name ?? '' };
}

/**
 * @param {import('../hub/hub_client.js').HubClient} client
 * @param {{ machineId: string, folder: string, agent: string, tag: string }} what
 * @returns {Promise<string>}
 */
async function spawn(client, { machineId, folder, agent, tag }) {
  const body = { directory: folder, tag, ...(agent && { agent }) };
  const path = `/api/machines/${encodeURIComponent(machineId)}/spawn`;
  const answer = await client.post(path, body);
  if (answer.type === 'success') return String(answer.sessionId);
  throw new HubFailure('spawn_failed', String(answer.message), { status: 200 });
}
