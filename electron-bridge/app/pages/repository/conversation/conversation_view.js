/** The conversation tab: conversations on one side, the one that is open on the other. */

import { confirmDialog } from '../../common/dialog.js';
import { makeRenderer } from '../../common/renderer.js';
import { onLanguageChange, t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { kernel } from '../../common/kernel.js';
import { html, nothing, ref, repeat } from '../../common/lit.js';
import { readPreference, savePreference } from '../../common/preferences.js';
import { failureState, loadingState } from '../../common/states.js';
import { toast, toastFailure } from '../../common/toast.js';
import { onGrammar } from '../code/grammars.js';
import { waitingTool } from './agent_run.js';
import { composer } from './composer.js';
import { Conversation } from './conversation.js';
import { conversationList } from './conversation_list.js';
import { FollowedScroll } from './auto_scroll.js';
import { exportMarkdown, exportName, saveTextFile } from './export_markdown.js';
import { formatThousands, ModelFacts } from './models.js';
import { MentionPicker } from './mention_picker.js';
import { showRules } from './rules_dialog.js';
import { sourcesView } from './sources_view.js';
import { beginning, endButton, exportButton, memoryText } from './talk_parts.js';
import { turnView } from './turn_view.js';
import { countKept } from './turns.js';

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
  /** @type {{ entries: Entry[] | null, failure: unknown, models: string[] | null, modelName: string, draft: string, isSendRequested: boolean, isAgent: boolean, reviews: boolean, rules: import('../../../../types/protocol.d.ts').PermissionRuleEntry[], facts: ModelFacts, sourcesOf: Turn | null, edited: Turn | null, isListOpen: boolean }} */
  const state = {
    entries: null,
    failure: null,
    models: null,
    modelName: readPreference('talk.model') ?? '',
    draft: '',
    isSendRequested: false,
    isAgent: readPreference('talk.kind') === 'agent',
    reviews: readPreference('talk.reviews') === 'yes',
    rules: [],
    facts: new ModelFacts(),
    sourcesOf: null,
    edited: null,
    isListOpen: false,
  };
  /** Those in which an agent works, whoever has begun it. @type {Set<number>} */
  let working = new Set();
  /** Those with a running turn, and the one that is shown. @type {Map<number, Conversation>} */
  const open = new Map();
  let current = newConversation();
  let hasComeBack = false;
  let noteListed = () => {};
  /** An address can name a conversation before the kernel has said where agents work. */
  const listed = new Promise((resolve) => {
    noteListed = () => resolve(null);
  });

  const picker = new MentionPicker({ changed: () => draw(), write: writeAt });

  const draw = makeRenderer(container, template);
  const drawTurns = makeRenderer(scroller, turns);

  function template() {
    const shown = current.turns.find(({ turn }) => turn === state.sourcesOf);
    const classes = ['talk', state.isListOpen && 'list-open', shown && 'with-sources'];
    return html`<div class=${classes.filter(Boolean).join(' ')}>
      <aside class="talks" aria-label=${t('talks.title')}>
        ${conversationList(
          {
            entries: state.entries,
            failure: state.failure,
            currentId: current.id,
            running: new Set([
              ...working,
              ...[...open.values()].filter((one) => one.isRunning).map(({ id }) => id),
            ]),
          },
          { begin, open: show, remove, retry: loadList },
        )}
      </aside>
      <div class="talk-main">
        <button
          class="button small talks-toggle"
          type="button"
          aria-expanded=${String(state.isListOpen)}
          @click=${toggleList}
        >
          ${icon('chevron-down')} ${t('talks.title')}
        </button>
        ${current.turns.length > 0 && !current.isRunning ? exportButton(exportTalk) : nothing}
        ${scroller} ${scroll.isBehind ? endButton(() => scroll.toEnd()) : nothing}
        <p class="visually-hidden" role="status" aria-live="polite">${announcement()}</p>
        ${composer(
          {
            ...state,
            ruleCount: state.rules.length,
            memory: memoryText(state.facts.memoryOf(madeTurns()), formatThousands),
            isEditing: state.edited !== null,
            picker,
            state: phase(),
            isSessionReady: page.session.isPrepared,
          },
          {
            write,
            choose,
            setAgent,
            setReviews,
            showRules: openRules,
            send,
            endEdit,
            stop: () => current.stop(),
          },
        )}
      </div>
      ${shown ? sourcesView(shown.turn, { close: () => showSources(null), open: openSource }) : nothing}
    </div>`;
  }

  function madeTurns() {
    return current.turns.map(({ turn }) => turn);
  }

  function turns() {
    if (current.isLoading) return loadingState();
    if (current.failure) return failureState(current.failure, { retry: () => current.load() });
    if (current.turns.length === 0) {
      const hasModel = Boolean(state.models?.length);
      const start = { isAgent: state.isAgent, repoName: page.repoName, hasModel };
      return beginning(start, (query) => write(query, true));
    }
    const askAgain = current.isRunning ? null : again;
    const undo = current.isRunning ? null : undoTurn;
    const branching = current.isRunning
      ? { regenerate: null, edit: null, fork: null }
      : { regenerate, edit, fork };
    const { facts } = state;
    return html`<div class="turns" ${ref(follow)}>
      ${repeat(
        current.turns,
        ({ turn }) => turn,
        (shown) =>
          turnView(shown, {
            openExcerpt,
            askAgain,
            undo,
            openFile,
            showSources,
            facts,
            ...branching,
          }),
      )}
    </div>`;
  }

  /** @param {Element | undefined} content */
  function follow(content) {
    if (content) scroll.follow(content);
  }

  function newConversation() {
    return new Conversation(Date.now(), callbacks());
  }

  function callbacks() {
    return {
      changed,
      grown: () => scroll.grown(),
      openFile,
      failed: toastFailure,
      openPlace: (
        /** @type {import('./citations.js').CheckedCitation} */ { path, begin: first, end },
      ) => page.viewer.open({ filePath: path, beginLine: first - 1, endLine: end }),
    };
  }

  function changed() {
    draw();
    drawTurns();
    scroll.grown();
    noteState();
  }

  /** What is shown goes into the address, and what is at work into the badge. */
  function noteState() {
    page.note('talk', { conversation: current.turns.length > 0 ? current.id : undefined });
    page.running.setOwn(
      [...open.values()]
        .filter((one) => one.isRunning)
        .map(({ id, topic }) => ({ conversation: id, topic })),
    );
  }

  /** @returns {'ready' | 'answering' | 'stopping'} */
  function phase() {
    if (!current.isRunning) return 'ready';
    return current.turns.at(-1)?.turn.state === 'stopping' ? 'stopping' : 'answering';
  }

  function announcement() {
    const turn = current.turns.at(-1)?.turn;
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

  /**
   * @param {string} draft
   * @param {boolean} [isOffered] not typed by the user: scroll to it
   */
  function write(draft, isOffered = false) {
    state.draft = draft;
    state.isSendRequested = false;
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

  /** @param {string} modelName */
  function choose(modelName) {
    state.modelName = modelName;
    savePreference('talk.model', modelName);
    draw();
  }

  /** @param {boolean} isAgent */
  function setAgent(isAgent) {
    state.isAgent = isAgent;
    savePreference('talk.kind', isAgent ? 'agent' : 'ask');
    changed();
  }

  /** @param {boolean} reviews */
  function setReviews(reviews) {
    state.reviews = reviews;
    savePreference('talk.reviews', reviews ? 'yes' : 'no');
    draw();
  }

  async function openRules() {
    await showRules(state.rules);
    await loadRules();
  }

  async function loadRules() {
    try {
      state.rules = (await kernel.getPermissionRules()).rules;
      draw();
    } catch {
      // asked again with the list
    }
  }

  /** Asks what is written; if the kernel is not that far yet, as soon as it is. */
  function send() {
    const isReady = page.session.isPrepared && state.models !== null;
    state.isSendRequested = !isReady && state.draft.trim() !== '';
    if (isReady) ask(state.draft);
    else draw();
  }

  function sendIfRequested() {
    if (state.isSendRequested) send();
  }

  /** @param {import('./turns.js').Turn} turn */
  function again({ query, agent }) {
    return ask(query, agent !== null);
  }

  /**
   * Go on in a new conversation that has the first turns of this one, which stays as it is.
   *
   * @param {number} count of turns
   * @returns {Promise<boolean>} whether it is there
   */
  async function branch(count) {
    const kept = countKept(madeTurns().slice(0, count));
    const forked = newConversation();
    if (kept > 0) {
      const fields = { conversationId: current.id, newId: forked.id, turns: kept };
      try {
        await kernel.forkConversation(fields);
      } catch (failure) {
        toastFailure(failure);
        return false;
      }
    }
    leave();
    current = forked;
    open.set(forked.id, forked);
    if (kept > 0) await forked.load();
    changed();
    return true;
  }

  /** @param {Turn} turn */
  async function regenerate(turn) {
    if (await branch(madeTurns().indexOf(turn))) await ask(turn.query, false);
  }

  /** @param {Turn} turn */
  function edit(turn) {
    setAgent(turn.agent !== null);
    write(turn.query, true);
    state.edited = turn;
    draw();
  }

  function endEdit() {
    state.edited = null;
    write('');
  }

  /** @param {Turn} turn */
  async function fork(turn) {
    if (!(await branch(madeTurns().indexOf(turn) + 1))) return;
    toast(t('turn.forked'), { kind: 'success' });
    await loadList();
    focusQuestion();
  }

  /** @param {Turn | null} turn */
  function showSources(turn) {
    state.sourcesOf = turn;
    draw();
  }

  /** @param {import('./sources.js').Source} source */
  function openSource({ path, begin: first, end }) {
    page.viewer.open({ filePath: path, beginLine: first - 1, endLine: end });
  }

  function exportTalk() {
    const text = exportMarkdown(current.topic, page.repoName, madeTurns());
    saveTextFile(exportName(current.topic), text);
  }

  /** @param {import('./turns.js').Turn} turn */
  async function undoTurn(turn) {
    const conversation = current;
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

  /**
   * @param {string} query
   * @param {boolean} [isAgent]
   */
  async function ask(query, isAgent = state.isAgent) {
    if (!query.trim() || current.isRunning || !state.modelName) return;
    const { edited } = state;
    if (query === state.draft) state.draft = '';
    state.edited = null;
    if (edited && !(await branch(madeTurns().indexOf(edited)))) return;
    const conversation = current;
    open.set(conversation.id, conversation);
    scroll.toEnd();
    const answered = conversation.ask(query.trim(), state.modelName, {
      isAgent,
      reviews: state.reviews,
    });
    note(conversation);
    await answered;
    if (conversation !== current) open.delete(conversation.id);
    await Promise.all([loadList(), isAgent ? loadRules() : null]);
  }

  /** The kernel lists it when the first answer is there; the page lists it at once. @param {Conversation} conversation */
  function note({ id, topic, turns: made }) {
    const others = (state.entries ?? []).filter(({ conversationId }) => conversationId !== id);
    const entry = { conversationId: id, topic, time: Date.now(), turns: made.length };
    state.entries = [entry, ...others];
    draw();
  }

  function begin() {
    leave();
    current = newConversation();
    changed();
    queueMicrotask(focusQuestion);
  }

  /** @param {number} id */
  function show(id) {
    state.isListOpen = false;
    if (id === current.id && current.turns.length > 0) {
      draw();
      return;
    }
    leave();
    const running = open.get(id);
    current = running ?? new Conversation(id, callbacks());
    open.set(id, current);
    if (!running) load(current);
    scroll.toEnd();
    changed();
  }

  /** Read its history, then follow the agent that works there. @param {Conversation} conversation */
  async function load(conversation) {
    await Promise.all([conversation.load(), listed]);
    if (conversation !== current || !working.has(conversation.id)) return;
    conversation.failure = null; // there is no history before the first turn has ended
    await conversation.follow();
    if (conversation !== current) open.delete(conversation.id);
    await loadList();
  }

  function leave() {
    state.edited = null;
    if (!current.isRunning) open.delete(current.id);
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
    try {
      open.get(conversationId)?.stop();
      await kernel.deleteConversation({ conversationId });
      open.delete(conversationId);
      if (current.id === conversationId) begin();
    } catch (failure) {
      toastFailure(failure);
    }
    await loadList();
  }

  async function loadList() {
    if (!page.session.isPrepared) return;
    try {
      const { conversations, running = [] } = await kernel.getConversations();
      working = new Set(running.map(({ conversationId }) => conversationId));
      const known = new Set(conversations.map(({ conversationId }) => conversationId));
      const begun = running
        .filter(({ conversationId }) => !known.has(conversationId))
        .map(({ conversationId, query }) => ({
          conversationId,
          topic: query,
          time: Date.now(),
          turns: 0,
        }));
      state.entries = [...begun, ...conversations];
      state.failure = null;
      noteListed();
      comeBack();
    } catch (failure) {
      state.failure = failure;
    }
    draw();
  }

  /** A page that was loaded again shows the agent that works, unless its address says otherwise. */
  function comeBack() {
    const [id] = working;
    if (hasComeBack || id === undefined || open.has(current.id) || state.draft) return;
    hasComeBack = true;
    show(id);
  }

  async function loadModels() {
    try {
      const reply = await kernel.getGenerationModels();
      state.facts = new ModelFacts(reply);
      state.models = reply.modelList.map(({ name }) => name);
      if (!state.models.includes(state.modelName)) state.modelName = state.models[0] ?? '';
    } catch {
      // the banner shows that the kernel does not run; loaded again when it is back
    }
    changed();
    sendIfRequested();
  }

  function toggleList() {
    state.isListOpen = !state.isListOpen;
    draw();
  }

  function focusQuestion() {
    /** @type {HTMLElement | null} */ (container.querySelector('#question'))?.focus();
  }

  function loadAll() {
    loadList();
    if (page.session.isPrepared) loadRules();
    loadModels();
  }

  let isShown = false;
  page.session.onChange(() => {
    if (isShown && page.session.isPrepared) loadAll();
    sendIfRequested();
    draw();
  });
  globalThis.addEventListener('focus', () => isShown && loadAll()); // settings, or agents elsewhere
  const redrawAnswers = () => current.redraw();
  onLanguageChange(redrawAnswers);
  onGrammar(redrawAnswers);

  return {
    shown: ({ conversation }) => {
      isShown = true;
      if (conversation && conversation !== current.id) show(conversation);
      loadAll();
      scroll.grown();
    },
    hidden: () => {
      isShown = false;
    },
  };
}
