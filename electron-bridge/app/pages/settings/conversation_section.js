/** The chat models and how a conversation goes. */

import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { html, repeat } from '../common/lit.js';
import { chatModel } from './chat_model.js';
import { checkField, numberField } from './fields.js';
import { LISTS, newChatModel } from './form_model.js';
import { section } from './section.js';

/** @typedef {import('./store.js').SettingsStore} SettingsStore */

/** Where the usual providers and local servers answer. */
const ENDPOINTS = [
  'https://api.openai.com/v1/chat/completions',
  'https://api.deepseek.com/v1/chat/completions',
  'https://openrouter.ai/api/v1/chat/completions',
  'http://127.0.0.1:11434/v1/chat/completions',
  'http://127.0.0.1:1234/v1/chat/completions',
];

/** @param {SettingsStore} store */
export function conversationSection(store) {
  const rows = /** @type {any[]} */ (store.value(LISTS.chat));
  const add = () => store.setRows(LISTS.chat, [...store.value(LISTS.chat), newChatModel()]);
  return section(
    'conversation',
    html`<div class="settings-group" role="group" aria-labelledby="chat-title">
        <p class="field-label" id="chat-title">${t('chat.title')}</p>
        <p class="hint">${t(rows.length ? 'chat.hint' : 'chat.none')}</p>
        <datalist id="endpoints">
          ${ENDPOINTS.map((url) => html`<option value=${url}></option>`)}
        </datalist>
        ${repeat(
          rows,
          (row) => row._id,
          (row, index) => chatModel(store, row, index),
        )}
        <div>
          <button class="button small" type="button" @click=${add}>
            ${icon('plus')} ${t('chat.add')}
          </button>
        </div>
      </div>
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
