/** The conversation tab: conversations on one side, the one that is open on the other. */

import { confirmDialog } from '../../common/dialog.js';
import { makeRenderer } from '../../common/renderer.js';
import { onLanguageChange, t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing, ref, repeat } from '../../common/lit.js';
import { setOwnTurns } from '../../common/running.js';
import { failureState, loadingState } from '../../common/states.js';
import { toast, toastFailure } from '../../common/toast.js';
import { onGrammar } from '../code/grammars.js';
import { waitingTool } from './agent_run.js';
import { FollowedScroll } from './auto_scroll.js';
import { branchAfter, branchBefore } from './branches.js';
import { composer } from './composer.js';
import { conversationList } from './conversation_list.js';
import { exportMarkdown, exportName, saveTextFile } from './export_markdown.js';
import { MentionPicker } from './mention_picker.js';
import { formatThousands } from './models.js';
import { showRules } from './rules_dialog.js';
import { sourcesView } from './sources_view.js';
import { beginning, endButton, exportButton, memoryText } from './talk_parts.js';
import { TalkState } from './talk_state.js';
import { turnView } from './turn_view.js';

/** @typedef {import('./conversation_list.js').Entry} Entry */
/** @typedef {import('./turns.js').Turn} Turn */

/**
 * @param {HTMLElement} container
 * @param {import('../main.js').Page} page
 * @returns {import('../main.js').View}
 */
export function mountConversation(container, page) {
  const scroller = document.createElement('div');
  scroller.className = 'talk-scroller';
  const scroll = new FollowedScroll(scroller, () => draw());
  const talk = new TalkState(page.session, {
    draw: () => draw(),
    changed,
    toEnd: () => scroll.toEnd(),
    conversation: {
      changed,
      grown: () => scroll.grown(),
      openFile,
      failed: toastFailure,
      openPlace: openSource,
    },
  });
  /** @type {Turn | null} */
  let sourcesOf = null;
  let isListOpen = false;

  const picker = new MentionPicker({ changed: () => draw(), write: writeAt });

  const draw = makeRenderer(container, template);
  const drawTurns = makeRenderer(scroller, turns);

  function template() {
    const { current } = talk;
    const shown = current.turns.find(({ turn }) => turn === sourcesOf);
    const classes = ['talk', isListOpen && 'list-open', shown && 'with-sources'];
    return html`<div class=${classes.filter(Boolean).join(' ')}>
      <aside class="talks" aria-label=${t('talks.title')}>
        ${conversationList(
          {
            entries: talk.entries,
            failure: talk.failure,
            currentId: current.id,
            running: talk.running,
          },
          { begin, open: show, remove, retry: () => talk.loadList() },
        )}
      </aside>
      <div class="talk-main">
        <button
          class="button small talks-toggle"
          type="button"
          aria-expanded=${String(isListOpen)}
          @click=${toggleList}
        >
          ${icon('chevron-down')} ${t('talks.title')}
        </button>
        ${current.turns.length > 0 && !current.isRunning ? exportButton(exportTalk) : nothing}
        ${scroller} ${scroll.isBehind ? endButton(() => scroll.toEnd()) : nothing}
        <p class="visually-hidden" role="status" aria-live="polite">${announcement()}</p>
        ${question()}
      </div>
      ${shown ? sourcesView(shown.turn, { close: () => showSources(null), open: openSource }) : nothing}
    </div>`;
  }

  function question() {
    const { models, modelName, draft, isSendRequested, isAgent, reviews } = talk;
    return composer(
      {
        models,
        modelName,
        draft,
        isSendRequested,
        isAgent,
        reviews,
        ruleCount: talk.rules.length,
        memory: memoryText(talk.facts.memoryOf(talk.turns), formatThousands),
        isEditing: talk.edited !== null,
        picker,
        state: phase(),
        isSessionReady: page.session.isPrepared,
      },
      {
        write,
        choose: (name) => talk.choose(name),
        setAgent: (isNow) => talk.setAgent(isNow),
        setReviews: (isNow) => talk.setReviews(isNow),
        showRules: openRules,
        send,
        endEdit,
        stop: () => talk.current.stop(),
      },
    );
  }

  function turns() {
    const { current, facts } = talk;
    if (current.isLoading) return loadingState();
    if (current.failure) return failureState(current.failure, { retry: () => current.load() });
    if (current.turns.length === 0) {
      const hasModel = Boolean(talk.models?.length);
      const start = { isAgent: talk.isAgent, repoName: page.repoName, hasModel };
      return beginning(start, (query) => write(query, true));
    }
    const actions = current.isRunning
      ? { askAgain: null, undo: null, regenerate: null, edit: null, fork: null }
      : { askAgain, undo, regenerate, edit, fork };
    return html`<div class="turns" ${ref(follow)}>
      ${repeat(
        current.turns,
        ({ turn }) => turn,
        (shown) => turnView(shown, { openExcerpt, openFile, showSources, facts, ...actions }),
      )}
    </div>`;
  }

  /** @param {Element | undefined} content */
  function follow(content) {
    if (content) scroll.follow(content);
  }

  function changed() {
    draw();
    drawTurns();
    scroll.grown();
    noteState();
  }

  /** What is shown goes into the address, and what is at work into the badge. */
  function noteState() {
    const { current, answering } = talk;
    page.note('talk', { conversation: current.turns.length > 0 ? current.id : undefined });
    setOwnTurns(
      page.repoName,
      answering.map(({ entry }) => entry),
    );
  }

  /** @returns {'ready' | 'answering' | 'stopping'} */
  function phase() {
    if (!talk.current.isRunning) return 'ready';
    return talk.turns.at(-1)?.state === 'stopping' ? 'stopping' : 'answering';
  }

  function announcement() {
    const turn = talk.turns.at(-1);
    if (!turn) return '';
    if (phase() === 'ready') return t(`spoken.${turn.state}`);
    const waiting = turn.agent && waitingTool(turn.agent);
    if (waiting) return t('spoken.permission', { tool: waiting.name });
    return t(turn.agent ? 'spoken.working' : 'spoken.answering');
  }

  /** @param {import('../../../../types/protocol.js').ResultContent} excerpt */
  function openExcerpt({ filePath, beginLine, endLine, content }) {
    page.viewer.open({ filePath, beginLine, endLine, content });
  }

  /** @param {string} filePath */
  function openFile(filePath) {
    page.viewer.open({ filePath, beginLine: 0, endLine: 0 });
  }

  /** @param {{ path: string, begin: number, end: number }} source with lines from 1 */
  function openSource({ path, begin: first, end }) {
    page.viewer.open({ filePath: path, beginLine: first - 1, endLine: end });
  }

  /** @param {Turn | null} turn */
  function showSources(turn) {
    sourcesOf = turn;
    draw();
  }

  function exportTalk() {
    const { topic } = talk.current;
    saveTextFile(exportName(topic), exportMarkdown(topic, page.repoName, talk.turns));
  }

  /**
   * @param {string} draft
   * @param {boolean} [isOffered] not typed by the user: scroll to it
   */
  function write(draft, isOffered = false) {
    talk.draft = draft;
    talk.isSendRequested = false;
    draw();
    if (isOffered) queueMicrotask(focusQuestion);
  }

  /**
   * @param {string} draft
   * @param {number} [caret]
   */
  function writeAt(draft, caret = draft.length) {
    write(draft);
    queueMicrotask(() => {
      focusQuestion();
      const box = /** @type {HTMLTextAreaElement | null} */ (container.querySelector('#question'));
      box?.setSelectionRange(caret, caret);
    });
  }

  async function openRules() {
    await showRules(talk.rules);
    await talk.loadRules();
  }

  /** Asks what is written; if the kernel is not that far yet, as soon as it is. */
  function send() {
    const isReady = page.session.isPrepared && talk.models !== null;
    talk.isSendRequested = !isReady && talk.draft.trim() !== '';
    if (isReady) ask(talk.draft);
    else draw();
  }

  function sendIfRequested() {
    if (talk.isSendRequested) send();
  }

  /**
   * @param {string} query
   * @param {boolean} [isAgent]
   */
  async function ask(query, isAgent = talk.isAgent) {
    if (!query.trim() || talk.current.isRunning || !talk.modelName) return;
    const { edited } = talk;
    if (query === talk.draft) talk.draft = '';
    talk.edited = null;
    if (edited && !(await branchBefore(talk, edited))) return;
    await talk.ask(query, isAgent);
  }

  /** @param {Turn} turn */
  function askAgain({ query, agent }) {
    return ask(query, agent !== null);
  }

  /** @param {Turn} turn */
  async function regenerate(turn) {
    if (await branchBefore(talk, turn)) await ask(turn.query, false);
  }

  /** @param {Turn} turn */
  function edit(turn) {
    talk.setAgent(turn.agent !== null);
    write(turn.query, true);
    talk.edited = turn;
    draw();
  }

  function endEdit() {
    talk.edited = null;
    write('');
  }

  /** @param {Turn} turn */
  async function fork(turn) {
    if (!(await branchAfter(talk, turn))) return;
    toast(t('turn.forked'), { kind: 'success' });
    await talk.loadList();
    focusQuestion();
  }

  /** @param {Turn} turn */
  async function undo(turn) {
    const conversation = talk.current;
    const isMeant = await confirmDialog({
      title: t('undo.title'),
      text: html`<p>${t('undo.text')}</p>
        <ul class="undo-files">
          ${turn.agent?.changes.map(({ filePath }) => html`<li class="path">${filePath}</li>`)}
        </ul>`,
      confirm: t('changes.undo'),
    });
    if (isMeant) await conversation.undo(turn).catch(toastFailure);
  }

  function begin() {
    talk.begin();
    queueMicrotask(focusQuestion);
  }

  /** @param {number} id */
  function show(id) {
    isListOpen = false;
    talk.show(id);
  }

  /** @param {Entry} entry */
  async function remove({ conversationId, topic }) {
    const isMeant = await confirmDialog({
      title: t('talks.delete.title'),
      text: html`<p class="talk-delete-topic">${topic}</p>
        <p>${t('talks.delete.text')}</p>`,
      confirm: t('act.delete'),
      danger: true,
    });
    if (!isMeant) return;
    const isCurrent = talk.current.id === conversationId;
    await talk.remove(conversationId);
    if (isCurrent && talk.current.id !== conversationId) focusQuestion();
  }

  function toggleList() {
    isListOpen = !isListOpen;
    draw();
  }

  function focusQuestion() {
    /** @type {HTMLElement | null} */ (container.querySelector('#question'))?.focus();
  }

  function loadAll() {
    talk.loadAll();
    talk.loadModels().then(sendIfRequested);
  }

  let isShown = false;
  page.session.onChange(() => {
    if (isShown && page.session.isPrepared) loadAll();
    sendIfRequested();
    draw();
  });
  globalThis.addEventListener('focus', () => isShown && loadAll()); // settings, or agents elsewhere
  const redrawAnswers = () => talk.current.redraw();
  onLanguageChange(redrawAnswers);
  onGrammar(redrawAnswers);

  return {
    shown: ({ conversation }) => {
      isShown = true;
      if (conversation && conversation !== talk.current.id) show(conversation);
      const mention = page.takeMention();
      if (mention) writeAt(`${talk.draft.replace(/(\S)$/, '$1 ')}@${mention} `);
      loadAll();
      scroll.grown();
    },
    hidden: () => {
      isShown = false;
    },
  };
}
