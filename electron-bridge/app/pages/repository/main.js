/** The page of one repository: opens it, and shows its tabs. */

import { makeRenderer } from '../common/renderer.js';
import { addTexts, t } from '../common/i18n.js';
import { onKernelState } from '../common/kernel_state.js';
import { html, nothing } from '../common/lit.js';
import { noteAddress } from '../common/navigation.js';
import { noteOpened } from '../common/recent.js';
import { onRunning, runningTurns } from '../common/running.js';
import { mountIndex } from './index/index_view.js';
import { StatusWatch } from './index/status_watch.js';
import { statusLine } from './index/status_line.js';
import { mountSearch } from './search/search_view.js';
import { banner, insteadOfTabs, noRepository } from './session/banner.js';
import { Session } from './session/session.js';
import { Taskbar } from './session/taskbar.js';
import { TABS, tabOf } from './session/tab_keys.js';
import { tabList } from './session/tabs.js';
import { mountConversation } from './conversation/conversation_view.js';
import { mountUsage } from './usage/usage_view.js';
import { Viewer } from './viewer/viewer.js';
import { en } from './texts/en.js';
import { zh } from './texts/zh.js';

/** @typedef {import('./session/tab_keys.js').Tab} Tab */
/** @typedef {import('../common/page_address.js').Place} Place */
/** @typedef {Pick<Place, 'query' | 'scope' | 'opened' | 'conversation'>} TabPlace what a tab has in the address */

/**
 * What every tab is given.
 *
 * @typedef {object} Page
 * @property {string} repoName
 * @property {Session} session
 * @property {StatusWatch} watch
 * @property {Viewer} viewer
 * @property {(tab: Tab, place?: TabPlace) => void} showTab
 * @property {(mention: string) => void} askAbout begins a question about a place, as `path:10-20`
 * @property {() => string} takeMention what a question is to be about, once
 * @property {(tab: Tab, place: TabPlace, options?: { isNew?: boolean }) => void} note writes what a
 *   tab shows into the address; with `isNew`, back leads to what it showed before
 */

/** @typedef {{ shown: (place: TabPlace) => void, hidden?: () => void }} View */

addTexts({ en, zh });

const MOUNTS = {
  search: mountSearch,
  talk: mountConversation,
  index: mountIndex,
  usage: mountUsage,
};

/**
 * @param {HTMLElement} main
 * @param {import('../shell/main.js').Shell} shell
 * @param {Place} place
 * @returns {import('../shell/main.js').MountedPage}
 */
export function mount(main, shell, { repoName = '' }) {
  const session = new Session(repoName);
  const watch = new StatusWatch(session);
  const taskbar = new Taskbar(watch);
  /** What the next question is to be about. */
  let mention = '';
  /** @type {Page} */
  const page = {
    repoName,
    session,
    watch,
    viewer: new Viewer(),
    showTab,
    askAbout,
    takeMention,
    note,
  };

  /** @type {Partial<Record<Tab, View>>} */
  const views = {};
  const panels = {
    search: panel('panel-body'),
    talk: panel('panel-body'),
    index: panel('panel-body scrolls'),
    usage: panel('panel-body scrolls'),
  };
  /** What each tab has in the address. @type {Record<Tab, TabPlace>} */
  const places = { search: {}, talk: {}, index: {}, usage: {} };
  /** @type {Tab | null} */
  let current = null;
  let isShown = false;

  const draw = makeRenderer(main, template);

  function template() {
    if (!repoName) return noRepository();
    const instead = insteadOfTabs(session);
    if (instead) return instead;
    return html`${banner(session, watch)}
    ${tabList(current ?? 'search', runningTurns(repoName).length, showTab)}
    ${TABS.map(
      (tab) =>
        html`<section
          class="panel"
          role="tabpanel"
          id="panel-${tab}"
          aria-labelledby="tab-${tab}"
          ?hidden=${tab !== current}
        >
          ${panels[tab]}
        </section>`,
    )}`;
  }

  function middle() {
    if (!repoName) return nothing;
    return html`<h1 class="repository-name" title=${session.now.path || repoName}>${repoName}</h1>
      ${statusLine(watch, () => showTab('index'))}`;
  }

  /**
   * @param {Tab} tab
   * @param {TabPlace} [place] else it shows what it showed before
   */
  function showTab(tab, place = places[tab]) {
    const isNew = tab !== current;
    arrive(tab, place);
    if (isShown) noteAddress(addressOf(tab), { replace: !isNew });
  }

  /** @type {Page['askAbout']} */
  function askAbout(what) {
    mention = what;
    showTab('talk');
  }

  function takeMention() {
    const taken = mention;
    mention = '';
    return taken;
  }

  /**
   * @param {Tab} tab
   * @param {TabPlace} place
   */
  function arrive(tab, place) {
    if (current && tab !== current) views[current]?.hidden?.();
    current = tab;
    places[tab] = place;
    draw();
    queueMicrotask(showCurrent);
  }

  function showCurrent() {
    if (!current || !isShown) return;
    const isFirst = !views[current];
    views[current] ??= MOUNTS[current](panels[current], page);
    views[current]?.shown(places[current]);
    if (isFirst) draw();
  }

  /** @type {Page['note']} */
  function note(tab, place, { isNew = false } = {}) {
    places[tab] = place;
    if (isShown && tab === current) noteAddress(addressOf(tab), { replace: !isNew });
  }

  /**
   * @param {Tab} tab
   * @returns {Place}
   */
  function addressOf(tab) {
    return { page: 'repository', repoName, part: tab, ...places[tab] };
  }

  /** What a view draws into; it stays while other tabs are shown. */
  function panel(/** @type {string} */ className) {
    const element = document.createElement('div');
    element.className = className;
    return element;
  }

  session.onChange(draw);
  session.onChange(shell.draw);
  watch.onChange(draw);
  watch.onChange(shell.draw);
  const ends = [onKernelState(draw), onRunning(draw), onRunning(shell.draw)];

  return {
    show: (place) => {
      const tab = tabOf(place.part);
      const isBack = !isShown && !tab && current !== null && !place.query && !place.opened;
      isShown = true;
      if (!repoName) return;
      noteOpened(repoName);
      session.show();
      arrive(tab ?? current ?? 'search', isBack ? places[current ?? 'search'] : tabPlace(place));
      noteAddress(addressOf(current ?? 'search'), { replace: true });
    },
    hide: () => {
      if (current) views[current]?.hidden?.();
      isShown = false;
      taskbar.show(-1);
      session.hide();
    },
    title: () => {
      const { length } = runningTurns(repoName);
      const count = length > 0 ? `(${length}) ` : '';
      return repoName ? `${count}${repoName} · codekernel` : t('session.noName');
    },
    middle,
    remove: () => {
      for (const end of ends) end();
      watch.end();
      session.end();
    },
  };
}

/**
 * @param {Place} place
 * @returns {TabPlace}
 */
function tabPlace({ query, scope, opened, conversation }) {
  return { query, scope, opened, conversation };
}
