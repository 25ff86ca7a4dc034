/**
 * What the scripted model says to an agent, round by round; the task says which script.
 *
 * A request is known to be an agent's by its tools, and its round by what came after the task.
 */

const NEW_GREETING =
  'def greet(name):\n    """Say good morning."""\n    return f"Good morning, {name}!"\n';
/** Goes on until somebody makes the file, so that a person can watch it run. */
const SLOW_COMMAND = 'until [ -e go ]; do sleep 0.05; done; seq 1 60; echo 3 tests passed';

/** @typedef {{ thinks?: string, says?: string, calls?: [string, object][] }} Round */

/** @type {Record<string, Round[]>} */
const SCRIPTS = {
  'friendlier greeting': [
    {
      thinks: 'The greeting is made in greet.py.\nI read it before I change it.',
      says: 'I look at the greeting first.',
      calls: [
        ['plan', { action: 'skip' }],
        ['read_file', { path: 'greet.py' }],
        ['read_file', { path: 'src/greet.py' }],
      ],
    },
    {
      calls: [
        ['edit_file', { path: 'greet.py', mode: 'overwrite', content: NEW_GREETING }],
        ['run_command', { command: SLOW_COMMAND }],
        ['delete_file', { path: 'main.go' }],
      ],
    },
    {
      says: 'The greeting in `greet.py:1-3` says **good morning** now, and the tests pass. `main.go` is still there, as you did not want it deleted.',
    },
  ],
  'run the tests': [
    {
      calls: [
        ['plan', { action: 'skip' }],
        ['run_command', { command: 'make test' }],
      ],
    },
  ],
  'small steps': [
    {
      calls: [
        ['plan', { action: 'create', tasks: ['Look', 'Change'] }],
        ['plan', { action: 'update', task_id: 1, status: 'completed' }],
        ['edit_file', { path: 'greet.py', mode: 'overwrite', content: NEW_GREETING }],
        ['plan', { action: 'update', task_id: 2, status: 'completed' }],
        ['run_command', { command: 'echo tidy' }],
      ],
    },
    { says: 'Both steps are done.' },
  ],
  'run it again': [{ calls: [['run_command', { command: 'make test' }]] }],
};

/**
 * The pieces of the next reply to an agent; null if nobody has asked for an agent.
 *
 * @param {any} body of the request
 * @returns {object[] | null}
 */
export function replyToAgent({ tools, messages }) {
  if (!tools?.some((/** @type {any} */ tool) => tool.function.name === 'plan')) return null;
  const task = messages.findLastIndex((/** @type {any} */ one) => one.role === 'user');
  const after = messages.slice(task + 1);
  const round = after.filter((/** @type {any} */ one) => one.role === 'assistant').length;
  const words = Object.keys(SCRIPTS).find((each) => messages[task].content.includes(each));
  return pieces((words && SCRIPTS[words][round]) || { says: 'Done.' });
}

/** @param {Round} round */
function pieces({ thinks = '', says = '', calls = [] }) {
  const deltas = [
    ...halves(thinks).map((text) => ({ reasoning_content: text })),
    ...halves(says).map((content) => ({ content })),
    ...calls.map(([name, given], index) => ({
      tool_calls: [
        {
          index,
          id: `call_${index}`,
          type: 'function',
          function: { name, arguments: JSON.stringify(given) },
        },
      ],
    })),
  ];
  const end = { index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' };
  return [...deltas.map((delta) => ({ choices: [{ index: 0, delta }] })), { choices: [end] }];
}

/** @param {string} text */
function halves(text) {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter(Boolean);
}
