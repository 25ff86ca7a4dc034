/**
 * The permissions of a session: one is shown at a time, the oldest first.
 *
 * The first answer of any device counts. Whoever comes too late is told who was first.
 */

import { t } from '../../common/i18n.js';
import { toast } from '../../common/toast.js';
import { sessionPath } from '../hub/hub_client.js';
import { explainHubFailure, HubFailure } from '../hub/hub_failure.js';
import { permissionBar } from './permission_bar.js';

/** @typedef {import('../sessions/session_record.js').SessionRecord} SessionRecord */
/** @typedef {import('../sessions/session_record.js').PermissionRequest} PermissionRequest */
/** @typedef {import('./permission_bar.js').PermissionReply} PermissionReply */

/** A tap that was meant for what stood there before must not allow anything. */
const READY_AFTER_MS = 400;

export class PermissionDesk {
  /** @type {PermissionRequest[]} */
  #requests = [];
  #shownId = '';
  #isReady = false;
  /** Answers of this page: on their way, or accepted. */
  #answered = new Set();
  #sessionId;
  #context;
  #changed;

  /**
   * @param {string} sessionId
   * @param {import('./session_view.js').SessionContext} context
   * @param {() => void} changed
   */
  constructor(sessionId, context, changed) {
    this.#sessionId = sessionId;
    this.#context = context;
    this.#changed = changed;
  }

  /** @param {SessionRecord} record */
  update(record) {
    const before = this.#requests;
    this.#requests = record.requests ?? [];
    const open = new Set(this.#requests.map(({ id }) => id));
    for (const { id } of before) {
      if (!open.has(id) && !this.#answered.has(id)) this.#tellDecision(record, id);
    }
    const shownId = this.#requests[0]?.id ?? '';
    if (shownId === this.#shownId) return;
    this.#shownId = shownId;
    this.#isReady = false;
    setTimeout(() => {
      this.#isReady = true;
      this.#changed();
    }, READY_AFTER_MS);
  }

  /** @param {() => void} stop */
  template(stop) {
    const [request] = this.#requests;
    if (!request) return null;
    const isAnswering = this.#answered.has(request.id);
    const state = { count: this.#requests.length, isAnswering, isReady: this.#isReady };
    return permissionBar(request, state, { answer: (reply) => this.#answer(request, reply), stop });
  }

  /**
   * @param {PermissionRequest} request
   * @param {PermissionReply} reply
   */
  async #answer({ id }, { isAllowed, isForTurn, optionId }) {
    this.#answered.add(id);
    this.#changed();
    const act = isAllowed ? 'approve' : 'deny';
    const body = {
      ...(isForTurn && { decision: 'approved_for_session' }),
      ...(optionId && { optionId }),
    };
    try {
      const path = sessionPath(this.#sessionId, 'permissions', id, act);
      await this.#context.client.post(path, body);
    } catch (failure) {
      this.#answered.delete(id);
      await this.#explain(failure, id);
      this.#changed();
    }
  }

  /**
   * @param {unknown} failure
   * @param {string} id
   */
  async #explain(failure, id) {
    const isLate = failure instanceof HubFailure && failure.code === 'request_not_found';
    if (!isLate) {
      toast(explainHubFailure(failure), { kind: 'failure' });
      return;
    }
    const isShown = this.#requests.some((each) => each.id === id);
    await this.#context.store.loadSession(this.#sessionId).catch(() => {});
    const record = this.#context.store.sessions.get(this.#sessionId);
    // While it is still shown, `update` tells it.
    if (record && !isShown) this.#tellDecision(record, id);
  }

  /**
   * @param {SessionRecord} record
   * @param {string} id
   */
  #tellDecision({ answered }, id) {
    const found = answered.find((each) => each.id === id);
    if (!found) return;
    const who = found.answeredBy || t('agents.someone');
    toast(t(`agents.decided.${found.status}`, { who }));
  }
}
