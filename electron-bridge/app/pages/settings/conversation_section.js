/** The chat models and how a conversation goes. */

import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { html, repeat } from '../common/lit.js';
import { toast } from '../common/toast.js';
import { askForChatModel } from './add_chat_model_dialog.js';
import { chatModel } from './chat_model.js';
import { checkField, numberField, textField } from './fields.js';
import { LISTS, newChatModel } from './form_model.js';
import { section } from './section.js';

/** @typedef {import('./store.js').SettingsStore} SettingsStore */

/** Of the prices that endpoints list. */
const LISTED_CURRENCY = 'USD';

/** @param {SettingsStore} store */
export function conversationSection(store) {
  const rows = /** @type {any[]} */ (store.value(LISTS.chat));
  return section(
    'conversation',
    html`<div class="settings-group" role="group" aria-labelledby="chat-title">
        <p class="field-label" id="chat-title">${t('chat.title')}</p>
        <p class="hint">${t(rows.length ? 'chat.hint' : 'chat.none')}</p>
        ${repeat(
          rows,
          (row) => row._id,
          (row, index) => chatModel(store, row, index),
        )}
        <div>
          <button class="button small" type="button" @click=${() => addChatModel(store)}>
            ${icon('plus')} ${t('chat.add')}
          </button>
        </div>
      </div>
      ${textField(store, 'conversationSettings.currency', {
        label: t('chat.currency'),
        hint: t('chat.currency.hint'),
        placeholder: 'USD',
      })}
      ${numberField(store, 'conversationSettings.maxRounds', {
        label: t('chat.rounds'),
        hint: t('chat.rounds.hint'),
      })}
      ${numberField(store, 'conversationSettings.historyLength', {
        label: t('chat.history'),
        hint: t('chat.history.hint'),
      })}
      ${checkField(store, 'conversationSettings.summarizeHistory', {
        label: t('chat.summarize'),
        hint: t('chat.summarize.hint'),
      })}`,
  );
}

/**
 * Ask for a model and save it at once; beside other changes, with them.
 *
 * @param {SettingsStore} store
 */
export async function addChatModel(store) {
  const taken = /** @type {any[]} */ (store.value(LISTS.chat)).map(({ name }) => name);
  const entry = await askForChatModel(store.kernel, taken);
  if (!entry) return;
  const isAlone = !store.isDirty;
  const row = Object.assign(newChatModel(), entry, { _isOpen: !isAlone });
  const hasPrices = store.value(LISTS.chat).some((/** @type {any} */ one) => one.inputPrice);
  const { currency } = store.value('conversationSettings');
  if (entry.inputPrice && !currency && !hasPrices) {
    store.set('conversationSettings.currency', LISTED_CURRENCY);
  }
  store.setRows(LISTS.chat, [...store.value(LISTS.chat), row]);
  if (isAlone && (await store.save()))
    toast(t('chat.added', { name: entry.name }), { kind: 'success' });
}
