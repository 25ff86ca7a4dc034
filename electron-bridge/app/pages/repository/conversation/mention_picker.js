/** What is offered while a name is written after an at sign: files and symbols, found by the search. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { kernel } from '../../common/kernel.js';
import { html, nothing } from '../../common/lit.js';
import { mentionAt, mentionsIn, putMention, suggestionsOf } from './mentions.js';

const MAX_RESULTS = 12;

/** @typedef {ReturnType<typeof suggestionsOf>[number]} Suggestion */

export class MentionPicker {
  /** @type {Suggestion[]} */
  suggestions = [];
  chosen = 0;
  /** @type {import('./mentions.js').Mention | null} */
  #place = null;
  #asking = 0;

  /** @param {{ changed: () => void, write: (draft: string, caret?: number) => void }} options */
  constructor(options) {
    this.options = options;
  }

  /**
   * @param {string} draft
   * @param {number} caret
   */
  async update(draft, caret) {
    this.#asking += 1;
    const mine = this.#asking;
    this.#place = mentionAt(draft, caret);
    const query = this.#place?.value ?? '';
    if (!query) {
      this.close();
      return;
    }
    const found = await kernel
      .search({ query, limit: MAX_RESULTS, accuracy: false, semantic: false })
      .catch(() => ({ results: [] }));
    if (mine !== this.#asking) return;
    this.suggestions = suggestionsOf(found.results);
    this.chosen = 0;
    this.options.changed();
  }

  close() {
    this.#asking += 1;
    if (this.suggestions.length === 0) return;
    this.suggestions = [];
    this.options.changed();
  }

  /**
   * @param {KeyboardEvent} event before the question box gets it
   * @param {string} draft
   */
  onKey(event, draft) {
    const count = this.suggestions.length;
    if (count === 0 || event.isComposing) return;
    if (event.key === 'ArrowDown') this.chosen = (this.chosen + 1) % count;
    else if (event.key === 'ArrowUp') this.chosen = (this.chosen + count - 1) % count;
    else if (event.key === 'Enter' || event.key === 'Tab') this.take(this.chosen, draft);
    else if (event.key === 'Escape') this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.options.changed();
  }

  /**
   * @param {number} index
   * @param {string} draft
   */
  take(index, draft) {
    const suggestion = this.suggestions[index];
    if (!suggestion || !this.#place) return;
    const put = putMention(draft, this.#place, suggestion.value);
    this.close();
    this.options.write(put.draft, put.caret);
  }

  /** @param {string} draft */
  view(draft) {
    return html`${chips(draft, this.options.write)} ${this.#list(draft)}`;
  }

  /** @param {string} draft */
  #list(draft) {
    if (this.suggestions.length === 0) return nothing;
    return html`<ul class="mention-list" role="listbox" aria-label=${t('mention.title')}>
      ${this.suggestions.map(
        ({ label, detail }, index) =>
          html`<li
            class=${index === this.chosen ? 'mention chosen' : 'mention'}
            role="option"
            aria-selected=${String(index === this.chosen)}
            @mousedown=${(/** @type {Event} */ event) => {
              event.preventDefault(); // the question box keeps the focus
              this.take(index, draft);
            }}
          >
            ${icon(detail ? 'search' : 'file')} <span class="mention-label">${label}</span>
            <span class="faint">${detail}</span>
          </li>`,
      )}
    </ul>`;
  }
}

/**
 * @param {string} draft
 * @param {(draft: string) => void} write
 */
function chips(draft, write) {
  const mentions = mentionsIn(draft);
  if (mentions.length === 0) return nothing;
  return html`<ul class="mention-chips" aria-label=${t('mention.chips')}>
    ${mentions.map(
      (mention) =>
        html`<li class="chip">
          ${icon('file')} ${mention.value}
          <button
            class="mention-remove"
            type="button"
            aria-label=${t('mention.remove', { name: mention.value })}
            @click=${() => write(putMention(draft, mention, '').draft)}
          >
            ${icon('close')}
          </button>
        </li>`,
    )}
  </ul>`;
}
