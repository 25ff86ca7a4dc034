/** The files that have changed in the folder of a session; a file shows its diff when opened. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing, render } from '../../common/lit.js';
import { loadingState } from '../../common/states.js';
import { diffView } from '../../repository/conversation/diff_view.js';
import { sessionPath } from '../hub/hub_client.js';
import { explainHubFailure } from '../hub/hub_failure.js';
import {
  collectEdits,
  decodeBase64,
  diffOfNewFile,
  hunksOf,
  readGitStatus,
} from '../sessions/changes.js';

/** @typedef {import('../sessions/changes.js').ChangedFile} ChangedFile */
/** @typedef {{ file: ChangedFile, isOpen: boolean, diff: string | null, problem: string }} Shown */

export class ChangesView {
  element = document.createElement('div');
  /** @type {Shown[] | null} */
  #files = null;
  #isFromGit = true;
  #problem = '';
  #client;
  #sessionId;
  #turns;

  /**
   * @param {string} sessionId
   * @param {import('../hub/hub_client.js').HubClient} client
   * @param {() => readonly import('../sessions/transcript.js').Turn[]} turns
   */
  constructor(sessionId, client, turns) {
    this.#sessionId = sessionId;
    this.#client = client;
    this.#turns = turns;
    this.element.className = 'changes-view';
  }

  /** Read the list anew. */
  async load() {
    this.#draw();
    const open = new Set(this.#files?.filter(({ isOpen }) => isOpen).map(({ file }) => file.path));
    this.#problem = '';
    try {
      const files = await this.#readFiles();
      this.#files = files.map((file) => ({ file, isOpen: false, diff: null, problem: '' }));
      for (const each of this.#files) if (open.has(each.file.path)) this.#toggle(each);
    } catch (failure) {
      this.#problem = explainHubFailure(failure);
    }
    this.#draw();
  }

  redraw() {
    this.#draw();
  }

  async #readFiles() {
    const status = await this.#ask('git-status');
    this.#isFromGit = status.success;
    if (!status.success) return collectEdits(this.#turns());
    const counts = await Promise.all([
      this.#ask('git-diff-numstat'),
      this.#ask('git-diff-numstat', { staged: '1' }),
    ]);
    return readGitStatus(status.stdout, counts.map(({ stdout }) => stdout ?? '').join('\n'));
  }

  /** @param {Shown} shown */
  async #toggle(shown) {
    shown.isOpen = !shown.isOpen;
    this.#draw();
    if (!shown.isOpen || shown.diff !== null) return;
    try {
      shown.diff = await this.#readDiff(shown.file);
    } catch (failure) {
      shown.problem = explainHubFailure(failure);
    }
    this.#draw();
  }

  /** @param {ChangedFile} file */
  async #readDiff({ path, diff, isUntracked, isStaged }) {
    if (diff !== undefined) return diff;
    if (isUntracked) {
      const answer = await this.#ask('file', { path });
      if (!answer.success) throw new Error(answer.error);
      return diffOfNewFile(decodeBase64(answer.content));
    }
    const answer = await this.#ask('git-diff-file', { path, ...(isStaged && { staged: '1' }) });
    if (!answer.success) throw new Error(answer.error);
    return hunksOf(answer.stdout);
  }

  /**
   * @param {string} kind
   * @param {Record<string, string>} [query]
   */
  #ask(kind, query = {}) {
    const path = sessionPath(this.#sessionId, kind);
    return this.#client.get(`${path}?${new URLSearchParams(query)}`);
  }

  #draw() {
    render(this.#template(), this.element);
  }

  #template() {
    if (this.#problem) return html`<p class="notice failure" role="alert">${this.#problem}</p>`;
    if (!this.#files) return loadingState();
    const refresh = html`<button class="button small" type="button" @click=${() => this.load()}>
      ${icon('refresh')} ${t('agents.changes.refresh')}
    </button>`;
    return html`<div class="changes-head">
        <h2>${t('changes.count', { count: this.#files.length })}</h2>
        ${refresh}
      </div>
      ${this.#isFromGit ? nothing : html`<p class="hint">${t('agents.changes.noGit')}</p>`}
      <ul class="changed-files">
        ${this.#files.map((shown, index) => this.#row(shown, index))}
      </ul>`;
  }

  /**
   * @param {Shown} shown
   * @param {number} index
   */
  #row(shown, index) {
    const { file, isOpen, diff, problem } = shown;
    const id = `changed-${index}`;
    return html`<li class="changed-file">
      <button
        class="changed-toggle"
        type="button"
        aria-expanded=${String(isOpen)}
        aria-controls=${id}
        @click=${() => this.#toggle(shown)}
      >
        ${icon(isOpen ? 'chevron-down' : 'chevron-right')}
        <span class="changed-path">${file.path}</span>
        <span class="changed-counts">
          ${
            file.added === null
              ? t(`changes.${file.kind}`)
              : html`<span class="added">+${file.added}</span>
                  <span class="removed">−${file.removed}</span>`
          }
        </span>
      </button>
      <div id=${id} ?hidden=${!isOpen}>
        ${problem ? html`<p class="field-problem" role="alert">${problem}</p>` : nothing}
        ${isOpen && diff === null && !problem ? loadingState() : nothing}
        ${isOpen && diff !== null ? diffView(diff, `${t('tool.changed')}: ${file.path}`) : nothing}
      </div>
    </li>`;
  }
}
