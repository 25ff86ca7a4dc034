/** The page of one repository: opens it, and shows its tabs. */

import { makeRenderer } from '../common/renderer.js';
import { addTexts, onLanguageChange, t } from '../common/i18n.js';
import { onKernelState } from '../common/kernel_state.js';
import { html, nothing } from '../common/lit.js';
import { noteOpened } from '../common/recent.js';
import { mountTopBar } from '../common/top_bar.js';
import { mountIndex } from './index/index_view.js';
import { StatusWatch } from './index/status_watch.js';
import { statusLine } from './index/status_line.js';
import { mountSearch } from './search/search_view.js';
import { banner, insteadOfTabs, noRepository } from './session/banner.js';
import { Session } from './session/session.js';
import { TABS, tabOf } from './session/tab_keys.js';
import { tabList } from './session/tabs.js';
import { mountConversation } from './conversation/conversation_view.js';
import { mountUsage } from './usage/usage_view.js';
import { Viewer } from './viewer/viewer.js';
import { en } from './texts/en.js';
import { zh } from './texts/zh.js';

/** @typedef {import('./session/tab_keys.js').Tab} Tab */

/**
 * What every tab is given.
 *
 * @typedef {object} Page
 * @property {string} repoName
 * @property {Session} session
 * @property {StatusWatch} watch
 * @property {Viewer} viewer
 * @property {(tab: Tab) => void} showTab
 */

/** @typedef {{ shown: () => void, hidden?: () => void }} View */

addTexts({ en, zh });

const repoName = new URLSearchParams(location.search).get('repo') ?? '';
const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const session = new Session(repoName);
const watch = new StatusWatch(session);
/** @type {Page} */
const page = { repoName, session, watch, viewer: new Viewer(), showTab };

const MOUNTS = {
  search: mountSearch,
  talk: mountConversation,
  index: mountIndex,
  usage: mountUsage,
};
/** @type {Partial<Record<Tab, View>>} */
const views = {};
const panels = { search: panel(), talk: panel(), index: panel(), usage: panel() };
/** @type {Tab} */
let current = tabOf(location.hash) ?? 'search';

const draw = makeRenderer(main, template);
const drawBar = mountTopBar({ page: 'repository', middle });

function template() {
  if (!repoName) return noRepository();
  const instead = insteadOfTabs(session);
  if (instead) return instead;
  return html`${banner(session)} ${tabList(current, showTab)}
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

/** @param {Tab} tab */
function showTab(tab) {
  if (tab !== current) views[current]?.hidden?.();
  current = tab;
  if (tabOf(location.hash) !== tab) history.replaceState(null, '', `#${tab}`);
  draw();
  queueMicrotask(showCurrent);
}

function showCurrent() {
  views[current] ??= MOUNTS[current](panels[current], page);
  views[current]?.shown();
}

/** What a view draws into; it stays while other tabs are shown. */
function panel() {
  const element = document.createElement('div');
  element.className = 'panel-body';
  return element;
}

function entitle() {
  document.title = repoName ? `${repoName} · codekernel` : t('session.noName');
}

globalThis.addEventListener('hashchange', () => {
  const tab = tabOf(location.hash);
  if (tab && tab !== current) showTab(tab);
});
session.onChange(draw);
session.onChange(drawBar);
watch.onChange(drawBar);
onKernelState(draw);
onLanguageChange(entitle);
entitle();
if (repoName) {
  noteOpened(repoName);
  session.open();
  showCurrent();
}
