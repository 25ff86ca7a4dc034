/** The plan of an agent, from its uses of the tool `plan`: a list that fills. Pure. */

/** @typedef {import('./agent_run.js').Item} Item */
/** @typedef {import('./agent_run.js').ToolItem} ToolItem */
/** @typedef {'pending' | 'in_progress' | 'completed'} StepStatus */
/** @typedef {{ id: number, text: string, status: StepStatus }} Step */

const STATUSES = new Set(['pending', 'in_progress', 'completed']);

/**
 * Whether an item only writes the plan, which is shown as a list instead.
 *
 * @param {Item} item
 */
export function isPlanning(item) {
  return item.kind === 'tool' && item.name === 'plan' && item.status !== 'error';
}

/**
 * The plan as it is after these items; empty if there is none.
 *
 * @param {Iterable<Item>} items
 * @returns {Step[]}
 */
export function planOf(items) {
  /** @type {Step[]} */
  let steps = [];
  for (const item of items) {
    if (isPlanning(item)) steps = applyCall(steps, /** @type {ToolItem} */ (item).input);
  }
  return steps;
}

/**
 * @param {Step[]} steps
 * @param {Record<string, any>} input as the model wrote it
 * @returns {Step[]}
 */
function applyCall(steps, { action, tasks, task_id: taskId, taskId: camel, status }) {
  if (action === 'create') return Array.isArray(tasks) ? tasks.map(stepOf) : [];
  if (action === 'skip') return [];
  if (action !== 'update' || !STATUSES.has(status)) return steps;
  const id = Number(taskId ?? camel);
  return steps.map((step) => (step.id === id ? { ...step, status } : step));
}

/**
 * @param {any} task a text, or an object
 * @param {number} index
 * @returns {Step}
 */
function stepOf(task, index) {
  if (typeof task === 'string') return { id: index + 1, text: task, status: 'pending' };
  const status = STATUSES.has(task?.status) ? task.status : 'pending';
  return { id: Number(task?.id ?? index + 1), text: String(task?.desc ?? ''), status };
}
