/** The state of an index in the words of a status bar. Pure. */

/** @typedef {import('../../types/protocol.d.ts').GetIndexStatusReply} IndexStatus */
/** @typedef {{ text: string, tooltip: string, isBusy: boolean, isWarning: boolean }} StatusText */

const BUSY = new Set(['starting', 'recovering', 'indexing', 'embedding']);

/**
 * @param {IndexStatus} status
 * @returns {StatusText}
 */
export function describeStatus(status) {
  const { state, files, chunks, filesWaiting, trouble, refused } = status;
  const isBusy = BUSY.has(state);
  const lines = [
    `${count(files)} files, ${count(chunks)} chunks indexed`,
    ...(filesWaiting ? [`${count(filesWaiting)} files under way`] : []),
    ...status.configs.map(describeVectors),
    ...describeSkipped(refused),
    ...(trouble ? [trouble] : []),
  ];
  const tooltip = lines.join('\n');
  if (trouble) return { text: '$(warning) codekernel', tooltip, isBusy, isWarning: true };
  return {
    text: `${icon(state)} codekernel${progress(status)}`,
    tooltip,
    isBusy,
    isWarning: false,
  };
}

/** @param {string} state */
function icon(state) {
  if (state === 'paused') return '$(debug-pause)';
  if (state === 'read-only') return '$(lock)';
  return BUSY.has(state) ? '$(sync~spin)' : '$(search)';
}

/** @param {IndexStatus} status */
function progress({ state, files, configs }) {
  if (state === 'embedding') {
    const all = sum(configs.map(({ chunks }) => chunks));
    const waiting = sum(configs.map((config) => config.waiting));
    return all ? ` ${Math.floor((100 * Math.max(0, all - waiting)) / all)} %` : '';
  }
  return state === 'indexing' || state === 'recovering' ? ` ${count(files)} files` : '';
}

/** @param {IndexStatus['configs'][number]} config */
function describeVectors({ name, ready, waiting, secondsLeft, trouble }) {
  if (trouble) return `${name}: ${trouble}`;
  if (!waiting) return `${name}: ${ready ? 'vectors complete' : 'not ready yet'}`;
  const left = secondsLeft === null ? '' : `, about ${Math.ceil(secondsLeft)} s left`;
  return `${name}: ${count(waiting)} chunks without vectors${left}`;
}

/** @param {Record<string, number>} refused */
function describeSkipped(refused) {
  const skipped = sum(Object.values(refused));
  return skipped ? [`${count(skipped)} files skipped`] : [];
}

/** @param {number[]} numbers */
function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

/** @param {number} number */
function count(number) {
  return number.toLocaleString('en');
}
