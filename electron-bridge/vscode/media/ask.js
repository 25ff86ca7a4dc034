/** The page of the view "Ask". */

import { checkCitation } from '../../app/pages/repository/conversation/citations.js';
import { parseAnswer } from './answer_text.js';
import { button, element } from './elements.js';

const editor = acquireVsCodeApi();
const turns = element('div', { class: 'turns', role: 'log' });
const input = /** @type {HTMLTextAreaElement} */ (
  element('textarea', { rows: '3', 'aria-label': 'Question', placeholder: 'Ask about the code' })
);
const models = /** @type {HTMLSelectElement} */ (element('select', { 'aria-label': 'Chat model' }));
const askButton = button('Ask', ask);
const stopButton = button('Stop', () => editor.postMessage({ type: 'stop' }));
const row = element('div', { class: 'row' }, models, askButton, stopButton);

/** What is shown of the turn that runs, or ran last. */
let answer = '';
/** @type {Set<string>} */
let sources = new Set();
/** @type {any[]} */
let citations = [];
let [steps, body] = [element('p'), element('div')];

document.body.append(turns, element('div', { class: 'composer' }, input, row));
setRunning(false);
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  ask();
});
window.addEventListener('message', ({ data }) => receive(data));
editor.postMessage({ type: 'ready' });

function ask() {
  const query = input.value.trim();
  if (!query || !models.value || !stopButton.hidden) return;
  [answer, sources, citations] = ['', new Set(), []];
  steps = element('p', { class: 'steps', role: 'status' }, 'Reading the code …');
  body = element('div', { class: 'answer' });
  turns.append(element('div', { class: 'question' }, query), steps, body);
  turns.scrollTop = turns.scrollHeight;
  input.value = '';
  setRunning(true);
  editor.postMessage({ type: 'ask', query, model: models.value });
}

/** @param {any} message */
function receive(message) {
  switch (message.type) {
    case 'draft':
      if (message.text) input.value = message.text;
      input.focus();
      break;
    case 'models':
      showModels(message.models, message.model);
      break;
    case 'step':
      steps.textContent = message.text;
      break;
    case 'source':
      sources.add(message.filePath);
      break;
    case 'answer':
      answer += message.text;
      render();
      break;
    case 'citations':
      citations = message.citations;
      steps.textContent = message.masked ? `${message.masked} secrets were masked.` : '';
      render();
      break;
    case 'failed':
      turns.append(element('p', { class: 'failed', role: 'alert' }, message.message));
      setRunning(false);
      break;
    case 'ended':
      setRunning(false);
      break;
    case 'cleared':
      turns.replaceChildren();
      break;
    default:
  }
}

/**
 * @param {string[]} names
 * @param {string} chosen
 */
function showModels(names, chosen) {
  models.replaceChildren(...names.map((name) => element('option', { value: name }, name)));
  if (chosen) models.value = chosen;
  row.hidden = names.length === 0;
  if (names.length) return;
  turns.replaceChildren(
    element('p', {}, 'No chat model is set: name one in settings.json of codekernel.'),
    button('Open settings.json', () => editor.postMessage({ type: 'settings' })),
  );
}

/** @param {boolean} isRunning */
function setRunning(isRunning) {
  askButton.hidden = isRunning;
  stopButton.hidden = !isRunning;
}

function render() {
  const isAtEnd = turns.scrollTop + turns.clientHeight > turns.scrollHeight - 40;
  body.replaceChildren(
    ...parseAnswer(answer, sources).map((block) => {
      if (block.kind === 'code') return element('pre', {}, block.text);
      const tag = block.kind === 'heading' ? 'h3' : 'p';
      return element(tag, {}, ...block.pieces.map(pieceElement));
    }),
  );
  if (isAtEnd) turns.scrollTop = turns.scrollHeight;
}

/** @param {import('./answer_text.js').Piece} piece */
function pieceElement(piece) {
  if (piece.kind === 'text') return piece.text;
  if (piece.kind !== 'place') return element(piece.kind, {}, piece.text);
  const checked = checkCitation(piece.place, citations);
  const signs = { verified: ' ✓', moved: ' ↷', stale: ' ✗', missing: ' ✗', unchecked: '' };
  const { path, begin, end } = checked;
  const made = button(
    `${piece.text}${signs[checked.state]}`,
    () => editor.postMessage({ type: 'open', place: { path, begin, end } }),
    'link',
  );
  made.title = checked.reason || checked.state;
  return made;
}
