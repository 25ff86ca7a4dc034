/** A conversation as Markdown, to be kept or sent elsewhere. */

import { formatTime } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { sourcesOf } from './sources.js';

/**
 * @param {string} topic
 * @param {string} repoName
 * @param {readonly import('./turns.js').Turn[]} turns
 */
export function exportMarkdown(topic, repoName, turns) {
  const title = topic.split('\n', 1)[0].trim() || t('talks.title');
  return `${[`# ${title}`, `*${repoName}*`, ...turns.map(turnText)].join('\n\n')}\n`;
}

/** @param {import('./turns.js').Turn} turn */
function turnText(turn) {
  const { query, modelName, time, answer, agent } = turn;
  const asked = query
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');
  const cited = sourcesOf(turn).filter(({ state }) => state !== 'shown');
  const sources = cited.map(({ path, begin, end, state }) => {
    const checked = state === 'unchecked' ? '' : ` (${t(`cite.${state}`)})`;
    return `- \`${path}:${begin === end ? begin : `${begin}-${end}`}\`${checked}`;
  });
  const changes = agent?.changes.map(({ filePath, kind }) => `- \`${filePath}\` (${kind})`) ?? [];
  return [
    `## ${t('turn.question')}`,
    asked,
    `*${[modelName, formatTime(time)].filter(Boolean).join(' · ')}*`,
    answer.trim(),
    ...(sources.length ? [`**${t('sources.title')}**`, sources.join('\n')] : []),
    ...(changes.length ? [`**${t('changes.title')}**`, changes.join('\n')] : []),
  ]
    .filter(Boolean)
    .join('\n\n');
}

/**
 * A name for the file: the topic without what a file system refuses.
 *
 * @param {string} topic
 */
export function exportName(topic) {
  const words = topic
    .split('\n', 1)[0]
    .replace(/[^\p{L}\p{N} _-]+/gu, ' ')
    .trim();
  return `${words.replace(/\s+/g, '-').slice(0, 60) || 'conversation'}.md`;
}

/**
 * Have the browser save a text as a file.
 *
 * @param {string} name
 * @param {string} text
 */
export function saveTextFile(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/markdown' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // the browser has read it by then
}
