/** The texts and tool calls of an agent in one turn, built from its messages. Pure. */

/** @typedef {import('../../../../types/protocol.d.ts').AgentMessageEntry} AgentMessageEntry */
/** @typedef {import('../../../../types/protocol.d.ts').AgentEntry} AgentEntry */
/** @typedef {import('../../../../types/protocol.d.ts').ChangeEntry} ChangeEntry */
/** @typedef {import('../../../../types/protocol.d.ts').UndoneEntry} UndoneEntry */
/** @typedef {import('../../../../types/protocol.d.ts').PermissionEntry} PermissionEntry */
/** @typedef {AgentMessageEntry['content'][number]} Block */

/** @typedef {'running' | 'asking' | 'success' | 'error' | 'denied' | 'stopped'} ToolStatus */

/**
 * @typedef {{ kind: 'text' | 'thinking' | 'note', text: string }} TextItem
 * @typedef {object} ToolItem
 * @property {'tool'} kind
 * @property {string} id
 * @property {string} name
 * @property {Record<string, unknown>} input
 * @property {ToolStatus} status
 * @property {string} output
 * @property {string} diff
 * @property {string} danger what it must be allowed for, if it is
 * @property {string} asked the edit that waits, as a diff
 * @property {string} rule what a rule would allow from now on, or ''
 */
/** @typedef {TextItem | ToolItem} Item */

/**
 * @typedef {object} AgentRun
 * @property {Item[]} items in the order in which they came
 * @property {ChangeEntry[]} changes
 * @property {UndoneEntry[] | null} undone what became of the files after an undo
 * @property {number} time by which the turn is undone; 0 until it has ended
 * @property {{ id: string, from: number }} growing which message may still grow, and its first item
 */

/** Tools that can do anything: what they did is in no journal. */
const RUNNING_TOOLS = new Set(['run_command', 'start_session', 'send_input']);

/** @returns {AgentRun} */
export function newRun() {
  return { items: [], changes: [], undone: null, time: 0, growing: { id: '', from: 0 } };
}

/**
 * A turn of the history.
 *
 * @param {AgentEntry} entry
 * @param {number} time
 */
export function runFromHistory({ messages, changes, undone }, time) {
  const run = newRun();
  for (const message of messages) applyMessage(run, message);
  settle(run);
  return Object.assign(run, { changes: changes ?? [], undone: undone ?? null, time });
}

/**
 * Take the next message; the items that are new or have changed.
 *
 * @param {AgentRun} run the same object, for it may be long
 * @param {AgentMessageEntry} message
 * @returns {Item[]}
 */
export function applyMessage(run, { role, content, meta }) {
  if (role === 'user') return content.flatMap((block) => applyResult(run, block));
  const id = meta?.id ?? '';
  if (!id || id !== run.growing.id) run.growing = { id, from: run.items.length };
  const { from } = run.growing;
  return content.flatMap((block, index) => applyBlock(run, block, from + index));
}

/**
 * A tool waits for the user's permission.
 *
 * @param {AgentRun} run
 * @param {PermissionEntry} request
 * @returns {Item[]}
 */
export function applyPermission(run, { toolUseId, danger, diff, rule }) {
  const tool = toolOf(run, toolUseId);
  if (!tool) return [];
  tool.status = 'asking';
  tool.danger = danger;
  tool.asked = diff ?? '';
  tool.rule = rule ?? '';
  return [tool];
}

/**
 * The user has decided; the result follows in a later message.
 *
 * @param {ToolItem} tool
 * @param {'allow' | 'allowTurn' | 'allowRule' | 'deny'} decision
 */
export function applyDecision(tool, decision) {
  tool.status = decision === 'deny' ? 'denied' : 'running';
}

/**
 * A permission was answered, perhaps on another device.
 *
 * @param {AgentRun} run
 * @param {import('../../../../types/protocol.d.ts').SettledEntry} settled
 * @returns {Item[]}
 */
export function applySettled(run, { toolUseId, allowed }) {
  const tool = toolOf(run, toolUseId);
  if (!tool || !['asking', 'running', 'denied'].includes(tool.status)) return [];
  tool.status = allowed ? 'running' : 'denied';
  return [tool];
}

/**
 * The turn is over: nothing runs any more.
 *
 * @param {AgentRun} run
 * @returns {Item[]} those that were cut off
 */
export function settle(run) {
  const open = run.items.filter(
    (item) => item.kind === 'tool' && (item.status === 'running' || item.status === 'asking'),
  );
  for (const item of open) /** @type {ToolItem} */ (item).status = 'stopped';
  return open;
}

/** @param {AgentRun} run @returns {ToolItem | undefined} the one that waits for the user */
export function waitingTool(run) {
  return /** @type {ToolItem | undefined} */ (
    run.items.findLast((item) => item.kind === 'tool' && item.status === 'asking')
  );
}

/** @param {AgentRun} run the agent's last text */
export function lastText(run) {
  const last = run.items.findLast(({ kind }) => kind === 'text');
  return last?.kind === 'text' ? last.text : '';
}

/** @param {AgentRun} run whether commands were run, which cannot be undone */
export function hasRunCommands(run) {
  return run.items.some(
    (item) =>
      item.kind === 'tool' &&
      RUNNING_TOOLS.has(item.name) &&
      (item.status === 'success' || item.status === 'error'),
  );
}

/**
 * @param {readonly UndoneEntry[]} before
 * @param {readonly UndoneEntry[]} now
 * @returns {UndoneEntry[]} one for each file, the later of the two
 */
export function mergeUndone(before, now) {
  return [...new Map([...before, ...now].map((entry) => [entry.filePath, entry])).values()];
}

/**
 * @param {AgentRun} run
 * @param {Block} block
 * @param {number} at
 * @returns {Item[]}
 */
function applyBlock(run, block, at) {
  const before = run.items[at];
  const item = itemOf(block);
  if (!item) return [];
  if (before?.kind !== item.kind || item.kind === 'tool') {
    if (before?.kind === 'tool' && item.kind === 'tool' && before.id === item.id) return [];
    run.items.splice(at, 1, item);
    return [item];
  }
  const grown = /** @type {TextItem} */ (before);
  if (grown.text === item.text) return [];
  grown.text = item.text;
  return [grown];
}

/**
 * @param {AgentRun} run
 * @param {Block} block
 * @returns {Item[]}
 */
function applyResult(run, block) {
  if (block.type !== 'tool_result') {
    const note = itemOf(block);
    if (!note) return [];
    const item = /** @type {Item} */ ({ ...note, kind: 'note' });
    run.items.push(item);
    return [item];
  }
  const tool = toolOf(run, block.tool_use_id);
  if (!tool) return [];
  tool.output = block.content;
  tool.diff = block.diff ?? '';
  if (block.denied) tool.status = 'denied';
  else if (!block.is_error) tool.status = 'success';
  else if (tool.status !== 'denied') tool.status = 'error';
  return [tool];
}

/**
 * @param {Block} block
 * @returns {Item | null} null for a kind of which nothing is known
 */
function itemOf(block) {
  switch (block.type) {
    case 'text':
      return { kind: 'text', text: block.text };
    case 'thinking':
      return { kind: 'thinking', text: block.thinking };
    case 'tool_use': {
      const { id, name, input } = block;
      const fresh = { output: '', diff: '', danger: '', asked: '', rule: '' };
      return { kind: 'tool', id, name, input, status: 'running', ...fresh };
    }
    default:
      return null;
  }
}

/**
 * @param {AgentRun} run
 * @param {string} id
 */
function toolOf({ items }, id) {
  return /** @type {ToolItem | undefined} */ (
    items.findLast((item) => item.kind === 'tool' && item.id === id)
  );
}
