/** A session as the page keeps it, from a summary, a whole record or a patch of the hub. Pure. */

/**
 * @typedef {object} PermissionRequest
 * @property {string} id
 * @property {string} tool
 * @property {Record<string, unknown>} arguments
 * @property {number} createdAt
 * @property {string} danger
 * @property {string} toolUseId the call that waits for it
 * @property {{ id: string, name: string, kind: string }[]} options of a foreign agent
 */
/**
 * @typedef {object} AnsweredRequest
 * @property {string} id
 * @property {string} toolUseId
 * @property {'approved' | 'denied' | 'canceled'} status
 * @property {string} answeredBy who decided, '' if nobody has
 */
/** @typedef {{ text: string, status: string }} PlanEntry */

/**
 * @typedef {object} SessionRecord
 * @property {string} id
 * @property {number} version an older state never replaces a newer one
 * @property {boolean} isActive
 * @property {boolean} isThinking
 * @property {boolean} isArchived
 * @property {number} updatedAt
 * @property {string} name
 * @property {string} folder
 * @property {string} host
 * @property {string} machineId
 * @property {string} agent
 * @property {number} epoch
 * @property {string} permissionMode
 * @property {number} pendingCount
 * @property {string} pendingTool of the oldest that waits
 * @property {PermissionRequest[] | null} requests null: only their number is known
 * @property {AnsweredRequest[]} answered
 * @property {PlanEntry[]} plan
 */
/** @typedef {'waiting' | 'running' | 'done' | 'away' | 'archived'} SessionStatus */

/**
 * @param {any} data a whole record
 * @returns {SessionRecord}
 */
export function readSession(data) {
  return {
    ...readCommon(data),
    ...readState(data.agentState),
    id: String(data.id),
    version: Number(data.agentStateVersion) || 0,
    permissionMode: String(data.permissionMode ?? 'default'),
    plan: readPlan(data.todos),
  };
}

/**
 * @param {any} data what the list of the hub has
 * @returns {SessionRecord}
 */
export function readSummary(data) {
  return {
    ...readCommon(data),
    id: String(data.id),
    version: Number(data.agentStateVersion) || 0,
    permissionMode: '',
    pendingCount: Number(data.pendingRequestsCount) || 0,
    pendingTool: String(data.pendingRequests?.[0]?.tool ?? ''),
    requests: null,
    answered: [],
    plan: [],
  };
}

/**
 * The newer of two states; of the same version, the one that has more to tell.
 *
 * @param {SessionRecord | undefined} known
 * @param {SessionRecord} next
 * @returns {SessionRecord}
 */
export function mergeSession(known, next) {
  if (!known || next.version > known.version) return next;
  if (next.version < known.version) return known;
  if (next.requests || !known.requests) return next;
  const { isActive, host } = next; // a machine comes and goes without a new version
  return { ...known, isActive, host };
}

/**
 * @param {SessionRecord} known
 * @param {any} data of `session-updated`
 * @returns {SessionRecord}
 */
export function applyPatch(known, data) {
  const version = Number(data.agentState?.version) || 0;
  if (version < known.version) return known;
  return {
    ...known,
    ...readCommon({ ...data, metadata: data.metadata?.value }),
    ...readState(data.agentState?.value),
    version,
    permissionMode: String(data.permissionMode ?? known.permissionMode),
    plan: readPlan(data.todos?.value),
  };
}

/**
 * @param {SessionRecord} session
 * @returns {SessionStatus}
 */
export function statusOf({ isArchived, isActive, isThinking, pendingCount }) {
  if (isArchived) return 'archived';
  if (!isActive) return 'away';
  if (pendingCount > 0) return 'waiting';
  return isThinking ? 'running' : 'done';
}

const ORDER = Object.freeze({ waiting: 0, running: 1, done: 2, away: 3, archived: 4 });

/**
 * Those that wait for somebody first, then those that run; the last used of each first.
 *
 * @param {Iterable<SessionRecord>} sessions
 */
export function orderSessions(sessions) {
  return [...sessions].sort(
    (one, other) =>
      ORDER[statusOf(one)] - ORDER[statusOf(other)] || other.updatedAt - one.updatedAt,
  );
}

/** @param {any} data */
function readCommon(data) {
  const { path = '', host = '', name = '', machineId = '', flavor = '' } = data.metadata ?? {};
  return {
    isActive: Boolean(data.active),
    isThinking: Boolean(data.thinking),
    isArchived: data.metadata?.lifecycleState === 'archived',
    updatedAt: Number(data.updatedAt) || 0,
    name: String(name),
    folder: String(path),
    host: String(host),
    machineId: String(machineId),
    agent: String(flavor),
    epoch: Number(data.metadata?.epoch) || 0,
  };
}

/** @param {any} state */
function readState(state) {
  const requests = Object.entries(state?.requests ?? {}).map(([id, each]) => readRequest(id, each));
  requests.sort((one, other) => one.createdAt - other.createdAt);
  return {
    pendingCount: requests.length,
    pendingTool: requests[0]?.tool ?? '',
    requests,
    answered: Object.entries(state?.completedRequests ?? {}).map(([id, each]) =>
      readAnswered(id, each),
    ),
  };
}

/**
 * @param {string} id
 * @param {any} data
 * @returns {PermissionRequest}
 */
function readRequest(id, data) {
  return {
    id,
    tool: String(data.tool),
    arguments: data.arguments ?? {},
    createdAt: Number(data.createdAt) || 0,
    danger: String(data.danger ?? ''),
    toolUseId: String(data.toolUseId ?? ''),
    options: Array.isArray(data.options) ? data.options : [],
  };
}

/**
 * @param {string} id
 * @param {any} data
 * @returns {AnsweredRequest}
 */
function readAnswered(id, { toolUseId, status, answeredBy }) {
  const who = answeredBy ? String(answeredBy.name || answeredBy.device) : '';
  return { id, toolUseId: String(toolUseId ?? ''), status, answeredBy: who };
}

/**
 * @param {any} todos
 * @returns {PlanEntry[]}
 */
function readPlan(todos) {
  if (!Array.isArray(todos)) return [];
  return todos.map(({ content, status }) => ({ text: String(content), status: String(status) }));
}
