/** All sessions and machines that the hub knows, kept up to date by its events. */

import { sessionPath } from '../hub/hub_client.js';
import { applyPatch, mergeSession, readSession, readSummary } from './session_record.js';

/** @typedef {import('./session_record.js').SessionRecord} SessionRecord */
/** @typedef {import('../hub/event_stream.js').HubEvent} HubEvent */
/** @typedef {{ name: string, title: string, unavailable: string }} AgentKind */
/**
 * @typedef {object} Machine
 * @property {string} id
 * @property {string} host
 * @property {boolean} isActive
 * @property {string[]} folders that a session may be started in
 * @property {AgentKind[]} agents
 */

export class SessionStore {
  /** @type {Map<string, SessionRecord>} */
  sessions = new Map();
  /** @type {Map<string, Machine>} */
  machines = new Map();
  /** Whether the list was read at least once. */
  isLoaded = false;
  #client;
  #changed;

  /**
   * @param {import('../hub/hub_client.js').HubClient} client
   * @param {(before: SessionRecord | undefined, now: SessionRecord | null) => void} changed
   *   called for each session that has changed; without a session: the list or the machines have
   */
  constructor(client, changed) {
    this.#client = client;
    this.#changed = changed;
  }

  /** Read everything anew. */
  async load() {
    const known = [...this.sessions.keys()]; // what is added while it is read, stays
    const [{ sessions }, { machines }] = await Promise.all([
      this.#client.get('/api/sessions'),
      this.#client.get('/api/machines'),
    ]);
    const ids = new Set(sessions.map((/** @type {any} */ each) => each.id));
    for (const id of known) if (!ids.has(id)) this.sessions.delete(id);
    for (const data of sessions) this.#noteSummary(readSummary(data));
    this.machines = new Map(
      machines.map((/** @type {any} */ each) => [each.id, readMachine(each)]),
    );
    this.isLoaded = true;
    this.#changed(undefined, null);
  }

  /**
   * Read one session whole; once more if the list, which does not say what a permission is for, has
   * overtaken the answer.
   *
   * @param {string} sessionId
   */
  async loadSession(sessionId) {
    do {
      const { session } = await this.#client.get(sessionPath(sessionId));
      this.#note(readSession(session));
    } while (this.sessions.get(sessionId)?.requests === null);
  }

  /** @param {HubEvent} event */
  apply(event) {
    const { type, sessionId = '', data } = event;
    if (type === 'session-added') this.#note(readSession(data));
    else if (type === 'session-updated') this.#patch(sessionId, data);
    else if (type === 'session-removed') {
      this.sessions.delete(sessionId);
      this.#changed(undefined, null);
    } else if (type === 'machine-updated') {
      this.machines.set(String(event.machineId), readMachine(data));
      this.#changed(undefined, null);
    }
  }

  /**
   * @param {string} sessionId
   * @param {any} data
   */
  #patch(sessionId, data) {
    const known = this.sessions.get(sessionId);
    if (known) this.#note(applyPatch(known, data));
    else this.loadSession(sessionId).catch(() => {}); // the next reading of the list has it
  }

  /**
   * What is known whole stays whole: there may be no event with the version of the list, for a
   * message counts it up without one.
   *
   * @param {SessionRecord} summary
   */
  #noteSummary(summary) {
    const known = this.sessions.get(summary.id);
    if (!known?.requests || summary.version <= known.version) this.#note(summary);
    else this.loadSession(summary.id).catch(() => this.#note(summary));
  }

  /** @param {SessionRecord} next */
  #note(next) {
    const known = this.sessions.get(next.id);
    const merged = mergeSession(known, next);
    if (merged === known) return;
    this.sessions.set(next.id, merged);
    this.#changed(known, merged);
  }
}

/**
 * @param {any} data
 * @returns {Machine}
 */
function readMachine({ id, active, metadata }) {
  return {
    id: String(id),
    host: String(metadata?.displayName ?? metadata?.host ?? id),
    isActive: Boolean(active),
    folders: metadata?.workspaceRoots ?? [],
    agents: metadata?.agents ?? [],
  };
}
