/** Why an answer failed: one sentence, and the one thing that helps. Pure. */

/** @typedef {'key' | 'quota' | 'down' | 'offline' | 'model' | 'slow' | 'folder' | 'kernel' | 'other'} FailureKind */
/** @typedef {'again' | 'settings' | 'repos'} FailureAction */

/** What the kernel's sentences say, of kernel/codekernel/llm/; the first that fits. @type {[FailureKind, RegExp][]} */
const WORDS = [
  ['folder', /the folder .* is gone/i],
  ['key', /refused the key|There is no API key|The key contains/],
  ['quota', /too many requests|wants to be paid/],
  ['down', /refused the connection/],
  ['offline', /could not be found \(DNS\)|could not be reached|did not accept a connection/],
  ['model', /Model not found|does not know this url or model|has no url/],
  ['slow', /did not answer in time|in the middle of its answer|without an answer/],
];

/** @type {Record<FailureKind, FailureAction>} */
const ACTIONS = {
  key: 'settings',
  quota: 'again',
  down: 'again',
  offline: 'again',
  model: 'settings',
  slow: 'again',
  folder: 'repos',
  kernel: 'again',
  other: 'again',
};

/**
 * @param {{ failure: unknown, error: string }} turn `error` is what the history says
 * @returns {{ kind: FailureKind, action: FailureAction, detail: string }} `detail` is the kernel's
 */
export function explainTurn({ failure, error }) {
  const { code = '', message = '' } = /** @type {{ code?: string, message?: string }} */ (
    failure ?? {}
  );
  const detail = message || error;
  const kind = kindOf(code, detail);
  return { kind, action: ACTIONS[kind], detail };
}

/**
 * @param {string} code
 * @param {string} detail
 * @returns {FailureKind}
 */
function kindOf(code, detail) {
  if (code === 'REPO_NOT_EXIST' || code === 'INVALID_PATH') return 'folder';
  if (/^(KERNEL|SESSION)_/.test(code)) return 'kernel';
  return WORDS.find(([, words]) => words.test(detail))?.[0] ?? 'other';
}
