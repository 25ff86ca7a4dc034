/** The kernel's list of what is wrong, taken apart, and its reasons in the page's language. */

import { t } from '../common/i18n.js';

/** @typedef {{ path: string, reason: string }} Problem `path` is '' where none is named */

const ROOTS = '(?:searchSettings|localModelManagement|conversationSettings|performance)';
const PREFIX = /^Failed in checking settings: /;
const FILE = /^settings(?:-modified)?\.json: /;
/** Reasons may hold semicolons themselves, so a cut must be followed by a key. */
const BETWEEN = new RegExp(`; (?=${ROOTS}[.\\w[\\]]*:? )`);
const KEYED = new RegExp(`^(${ROOTS}[.\\w[\\]]*):? (.*)$`, 's');

/**
 * @param {string} message of INVALID_SETTINGS
 * @returns {Problem[]}
 */
export function parseProblems(message) {
  const list = message.replace(PREFIX, '').replace(FILE, '');
  return list.split(BETWEEN).map((item) => {
    const [, path, reason] = KEYED.exec(item) ?? ['', '', item];
    return { path, reason };
  });
}

/**
 * What the kernel says most often, and the word for it. The groups are the word's values.
 *
 * @type {readonly [RegExp, string][]}
 */
const KNOWN = Object.freeze([
  [/^must be at least (?<least>[\d.e+]+), got .*$/, 'problem.least'],
  [/^must be at most (?<most>[\d.e+]+), got .*$/, 'problem.most'],
  [/^must not be empty$/, 'problem.missing'],
  [/^must not be empty when setApiKey is true$/, 'problem.missing'],
  [/^must be unique, .*$/, 'problem.unique'],
  [/^must start with http:\/\/ or https:\/\/ and name a host$/, 'problem.url'],
  [/^must be an absolute path, .*$/, 'problem.absolute'],
  [/^there is no folder (?<folder>.*)$/s, 'problem.folder'],
  [/^no API key is stored under .*$/s, 'problem.key'],
  [/^(?<name>CUDA|CoreML) is not available on this machine$/, 'problem.hardware'],
  [/^must be the name of a local model of type (?<type>\w+).*$/s, 'problem.model'],
]);

/**
 * A reason in the page's language, or in the kernel's own words.
 *
 * @param {string} reason
 */
export function explainProblem(reason) {
  for (const [pattern, key] of KNOWN) {
    const found = pattern.exec(reason);
    if (found) return t(key, { ...found.groups });
  }
  return reason;
}
