/** The page of the view "Search". */

import { marksOf } from '../../app/pages/repository/code/marks.js';
import { button, element } from './elements.js';

/** @typedef {import('../src/kernel_link.js').FoundPlace} FoundPlace */

const DEBOUNCE_MS = 150;
const MAX_SNIPPET_LINES = 10;

const editor = acquireVsCodeApi();
const input = /** @type {HTMLInputElement} */ (
  element('input', { type: 'search', 'aria-label': 'Query', placeholder: 'Search the code' })
);
const note = element('p', { class: 'note', role: 'status' });
const list = element('div', { role: 'list' });
let number = 0;
let isIndexing = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

document.body.append(input, note, list);
input.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(search, DEBOUNCE_MS);
});
input.addEventListener('keydown', ({ key }) => {
  if (key === 'Enter') search();
  if (key === 'ArrowDown') focusResult(list.firstElementChild);
});
window.addEventListener('message', ({ data }) => {
  if (data.type === 'query') setQuery(data.query);
  if (data.type === 'indexed') onIndexed(data.isBusy);
  if (data.number !== number) return;
  if (data.type === 'results') showResults(data.results, data.isComplete);
  if (data.type === 'failed') showNote(data.message, true);
});
input.value = editor.getState()?.query ?? '';
editor.postMessage({ type: 'ready' });
if (input.value) search();

/** @param {string} query */
function setQuery(query) {
  input.focus();
  input.select();
  if (!query || query === input.value) return;
  input.value = query;
  search();
}

/**
 * What has been indexed meanwhile may answer better; who walks through the results is left alone.
 *
 * @param {boolean} isBusy
 */
function onIndexed(isBusy) {
  isIndexing = isBusy;
  if (!list.contains(document.activeElement)) search();
}

function search() {
  clearTimeout(timer);
  const query = input.value.trim();
  number += 1;
  editor.setState({ query });
  if (query) {
    editor.postMessage({ type: 'search', query, number });
  } else {
    list.replaceChildren();
    showNote('', false);
  }
}

/**
 * @param {string} text
 * @param {boolean} isFailure
 */
function showNote(text, isFailure) {
  note.textContent = text;
  note.classList.toggle('failed', isFailure);
}

/**
 * @param {FoundPlace[]} results
 * @param {boolean} isComplete
 */
function showResults(results, isComplete) {
  list.replaceChildren(...results.map(resultElement));
  const some = isComplete ? '' : ' There may be more: say more of it, or add path: or lang:.';
  const many = results.length === 1 ? '1 result.' : `${results.length} results.`;
  const none = isIndexing ? 'Nothing yet: the index is being made.' : 'Nothing was found.';
  showNote(results.length ? `${many}${some}` : none, false);
}

/** @param {FoundPlace} result */
function resultElement(result) {
  const { filePath, beginLine, endLine, symbol, freshness } = result;
  const cut = filePath.lastIndexOf('/') + 1;
  const place = { folder: result.folder, filePath, beginLine, endLine };
  const open = (/** @type {boolean} */ isPreview) =>
    editor.postMessage({ type: 'open', place, isPreview });
  const title = element(
    'div',
    { class: 'title' },
    element('span', { class: 'name' }, `${filePath.slice(cut)}:${beginLine + 1}`),
    element('span', { class: 'folder' }, filePath.slice(0, cut)),
    button('like this', () => editor.postMessage({ type: 'related', place }), 'link'),
  );
  const made = element(
    'div',
    { class: 'result', role: 'listitem', tabindex: '0', title: `${filePath}:${beginLine + 1}` },
    title,
    ...(symbol ? [element('div', { class: 'symbol' }, symbol)] : []),
    ...(freshness === 'fresh' ? [] : [element('div', { class: 'note' }, freshness)]),
    element('pre', {}, ...snippet(result)),
  );
  made.addEventListener('click', () => open(true));
  made.addEventListener('dblclick', () => open(false));
  made.addEventListener('focus', () => open(true));
  made.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') open(false);
    if (event.key === 'ArrowDown') focusResult(made.nextElementSibling);
    if (event.key === 'ArrowUp') focusResult(made.previousElementSibling ?? input);
    if (event.key.startsWith('Arrow')) event.preventDefault();
  });
  return made;
}

/** @param {Element | null} target */
function focusResult(target) {
  if (target instanceof HTMLElement) target.focus();
}

/**
 * The first lines, with the words of the query marked.
 *
 * @param {FoundPlace} result
 */
function snippet({ content, highlightedContent }) {
  const end = content.split('\n', MAX_SNIPPET_LINES).join('\n').length;
  /** @type {(string | Node)[]} */
  const pieces = [];
  let place = 0;
  for (const [from, to] of marksOf(highlightedContent, content)) {
    if (to > end) break;
    pieces.push(content.slice(place, from), element('mark', {}, content.slice(from, to)));
    place = to;
  }
  return [...pieces, content.slice(place, end).trimEnd()];
}
