/** One session: what its agent did and does, its plan, its question, and what is said to it. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing, render } from '../../common/lit.js';
import { loadingState } from '../../common/states.js';
import { toast } from '../../common/toast.js';
import { FollowedScroll } from '../../repository/conversation/auto_scroll.js';
import { LIST_ADDRESS, sessionAddress } from '../address.js';
import { sessionPath } from '../hub/hub_client.js';
import { explainHubFailure, HubFailure } from '../hub/hub_failure.js';
import { titleOf } from '../sessions/notices.js';
import { OpenSession } from '../sessions/open_session.js';
import { statusOf } from '../sessions/session_record.js';
import { ChangesView } from './changes_view.js';
import { composer, queueView } from './composer.js';
import { openFileDialog } from './file_dialog.js';
import { PermissionDesk } from './permission_desk.js';
import { openSessionMenu } from './session_menu.js';
import { TranscriptView } from './transcript_view.js';

/** @typedef {import('../sessions/session_record.js').SessionRecord} SessionRecord */
/** @typedef {import('../sessions/message_log.js').LoggedMessage} LoggedMessage */

/**
 * @typedef {object} SessionContext
 * @property {import('../hub/hub_client.js').HubClient} client
 * @property {import('../sessions/session_store.js').SessionStore} store
 * @property {import('../sessions/outbox.js').Outbox} outbox
 */

export class SessionView {
  element = document.createElement('section');
  #head = document.createElement('header');
  #scroller = document.createElement('div');
  #above = document.createElement('div');
  #foot = document.createElement('footer');
  /** @type {OpenSession} */
  #session;
  #transcript;
  #changes;
  #scroll;
  #desk;
  #isShowingChanges = false;
  #isStopping = false;
  #isLoadingEarlier = false;
  #draft;
  #context;

  /**
   * @param {string} id
   * @param {SessionContext} context
   */
  constructor(id, context) {
    this.id = id;
    this.#context = context;
    this.#draft = readDraft(id);
    this.element.className = 'session';
    this.element.setAttribute('aria-labelledby', 'session-title');
    this.#head.className = 'session-head';
    this.#scroller.className = 'session-scroller';
    this.#scroller.tabIndex = 0;
    this.#scroller.setAttribute('role', 'region');
    this.#foot.className = 'session-foot';
    this.#session = new OpenSession(id, context.client, () => this.draw());
    this.#scroll = new FollowedScroll(this.#scroller, () => this.#drawFoot());
    this.#transcript = new TranscriptView({
      grown: () => this.#scroll.grown(),
      openPlace: (place) => openFileDialog(id, place, context.client),
    });
    this.#changes = new ChangesView(id, context.client, () => this.#transcript.turns);
    this.#desk = new PermissionDesk(id, context, () => this.#drawFoot());
    this.#scroller.append(this.#above, this.#transcript.element, this.#changes.element);
    this.element.append(this.#head, this.#scroller, this.#foot);
    this.#scroll.follow(this.#transcript.element);
  }

  /**
   * Read everything: at the beginning, and when events are missing.
   *
   * @returns {Promise<boolean>} false if it failed and may succeed later
   */
  async load() {
    this.draw();
    try {
      await this.#context.store.loadSession(this.id);
      await this.#session.reload();
    } catch (failure) {
      this.#session.failure = failure;
      this.draw();
    }
    const { failure } = this.#session;
    return !(failure instanceof HubFailure && failure.isTemporary);
  }

  /** @param {import('../hub/event_stream.js').HubEvent} event */
  apply(event) {
    this.#session.apply(event);
  }

  /** @param {boolean} isShowing the changed files instead of the messages */
  showChanges(isShowing) {
    if (isShowing && !this.#isShowingChanges) this.#changes.load();
    this.#isShowingChanges = isShowing;
    this.draw();
    if (!isShowing) this.#scroll.grown();
  }

  /** The language of the page has changed. */
  redraw() {
    this.#transcript.redraw();
    this.#changes.redraw();
    this.draw();
  }

  draw() {
    const record = this.#record;
    for (const { localId } of this.#outgoing) {
      if (this.#session.log.has(localId)) this.#context.outbox.remove(localId);
    }
    if (record) {
      if (!record.isThinking) this.#isStopping = false;
      this.#transcript.update(this.#session.log, record);
      this.#desk.update(record);
    }
    this.#transcript.element.hidden = this.#isShowingChanges;
    this.#changes.element.hidden = !this.#isShowingChanges;
    this.#scroller.setAttribute('aria-label', t('agents.messages'));
    render(this.#headTemplate(record), this.#head);
    render(this.#aboveTemplate(record), this.#above);
    this.#drawFoot();
    this.#scroll.grown();
  }

  get #record() {
    return this.#context.store.sessions.get(this.id);
  }

  get #outgoing() {
    return this.#context.outbox.list(this.id);
  }

  #drawFoot() {
    render(this.#footTemplate(this.#record), this.#foot);
  }

  /** @param {SessionRecord | undefined} record */
  #headTemplate(record) {
    const status = record && statusOf(record);
    const changes = sessionAddress(this.id, this.#isShowingChanges ? 'session' : 'changes');
    return html`<a
        class="button quiet icon back"
        href=${this.#isShowingChanges ? changes : LIST_ADDRESS}
        aria-label=${t('agents.back')}
        >${icon('chevron-left')}</a
      >
      <div class="session-heading">
        <h1 id="session-title">${record ? titleOf(record) : t('agents.untitled')}</h1>
        <p class="session-state" role="status">
          ${status === 'running' ? html`<span class="spinner" aria-hidden="true"></span>` : nothing}
          ${status ? t(`agents.status.${status}`) : ''}
          ${record ? html`<span class="session-host"> · ${record.host}</span>` : nothing}
        </p>
      </div>
      <a
        class="button quiet"
        href=${changes}
        title=${t('agents.changes')}
        aria-current=${this.#isShowingChanges ? 'page' : nothing}
      >
        ${icon('diff')} <span class="wide-only">${t('agents.changes')}</span>
      </a>
      <button
        class="button quiet icon"
        type="button"
        aria-label=${t('agents.menu')}
        ?disabled=${!record}
        @click=${() => record && openSessionMenu(record, this.#context.client)}
      >
        ${icon('settings')}
      </button>`;
  }

  /** @param {SessionRecord | undefined} record */
  #aboveTemplate(record) {
    const { failure, log } = this.#session;
    if (this.#isShowingChanges) return nothing;
    return html`${
      failure
        ? html`<div class="notice failure" role="alert">
            <p class="notice-body">${explainHubFailure(failure)}</p>
            <button class="button small" type="button" @click=${() => this.load()}>
              ${t('act.retry')}
            </button>
          </div>`
        : nothing
    }
    ${!log.isLoaded && !failure ? loadingState() : nothing}
    ${
      log.hasEarlier
        ? html`<button
            class="button small earlier"
            type="button"
            ?disabled=${this.#isLoadingEarlier}
            @click=${() => this.#loadEarlier()}
          >
            ${t('agents.earlier')}
          </button>`
        : nothing
    }
    ${record?.plan.length ? planView(record.plan) : nothing}`;
  }

  /** @param {SessionRecord | undefined} record */
  #footTemplate(record) {
    if (!record) return nothing;
    const toEnd = this.#scroll.isBehind
      ? html`<button class="button small to-end" type="button" @click=${() => this.#scroll.toEnd()}>
          ${icon('chevron-down')} ${t('agents.toEnd')}
        </button>`
      : nothing;
    const queue = queueView(this.#session.log.queued, this.#outgoing, {
      cancel: (message) => this.#cancel(message),
      discard: (localId) => this.#context.outbox.remove(localId),
      retry: (localId) => this.#context.outbox.retry(localId),
    });
    if (record.isArchived) return html`<p class="hint foot-note">${t('agents.archived.note')}</p>`;
    if (!record.isActive) {
      return html`${queue}
        <p class="notice warn foot-note">${t('agents.away.note', { host: record.host })}</p>`;
    }
    const question = this.#desk.template(() => this.#stop());
    if (question) return html`${toEnd} ${queue} ${question}`;
    const { isThinking } = record;
    return html`${toEnd} ${queue}
    ${composer(
      { draft: this.#draft, isThinking, isStopping: this.#isStopping },
      {
        write: (draft) => this.#write(draft),
        send: () => this.#send(),
        stop: () => this.#stop(),
      },
    )}`;
  }

  /** @param {string} draft */
  #write(draft) {
    this.#draft = draft;
    saveDraft(this.id, draft);
    this.#drawFoot();
  }

  #send() {
    const text = this.#draft.trim();
    if (!text) return;
    this.#write('');
    this.#context.outbox.add(this.id, text);
    this.#scroll.toEnd();
  }

  async #stop() {
    this.#isStopping = true;
    this.#drawFoot();
    try {
      await this.#context.client.post(sessionPath(this.id, 'abort'));
    } catch (failure) {
      this.#isStopping = false;
      toast(explainHubFailure(failure), { kind: 'failure' });
      this.#drawFoot();
    }
  }

  /** @param {LoggedMessage} message */
  async #cancel(message) {
    try {
      const path = sessionPath(this.id, 'messages', message.id);
      const { status } = await this.#context.client.delete(path);
      if (status === 'cancelled') this.#session.log.remove(message.id);
      else toast(t('agents.cancel.late'));
    } catch (failure) {
      toast(explainHubFailure(failure), { kind: 'failure' });
    }
    this.draw();
  }

  async #loadEarlier() {
    this.#isLoadingEarlier = true;
    this.draw();
    const fromEnd = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    try {
      await this.#session.loadEarlier();
    } catch (failure) {
      toast(explainHubFailure(failure), { kind: 'failure' });
    }
    this.#isLoadingEarlier = false;
    this.draw();
    requestAnimationFrame(() => {
      this.#scroller.scrollTop = this.#scroller.scrollHeight - fromEnd;
    });
  }
}

/** @param {readonly import('../sessions/session_record.js').PlanEntry[]} plan */
function planView(plan) {
  const done = plan.filter(({ status }) => status === 'completed').length;
  return html`<details class="plan card">
    <summary>${t('agents.plan', { done, total: plan.length })}</summary>
    <ol>
      ${plan.map(
        ({ text, status }) =>
          html`<li class="plan-entry ${status}">
            ${icon(status === 'completed' ? 'check' : 'chevron-right')}
            <span>${text}</span>
            <span class="visually-hidden">(${t(`agents.plan.${status}`)})</span>
          </li>`,
      )}
    </ol>
  </details>`;
}

/** @param {string} id a draft survives a reload of its tab, and is in no other */
function readDraft(id) {
  try {
    return sessionStorage.getItem(`codekernel.hub.draft.${id}`) ?? '';
  } catch {
    return '';
  }
}

/**
 * @param {string} id
 * @param {string} draft
 */
function saveDraft(id, draft) {
  try {
    sessionStorage.setItem(`codekernel.hub.draft.${id}`, draft);
  } catch {
    // no storage: it lasts as long as the page
  }
}
