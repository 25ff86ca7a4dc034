/** The page of agent sessions: the list, one session, and the connection to the hub behind them. */

import { languageButton, themeButton } from '../common/appearance_buttons.js';
import { addTexts, onLanguageChange, t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { html, nothing } from '../common/lit.js';
import { makeRenderer } from '../common/renderer.js';
import { onThemeChange } from '../common/theme.js';
import { toast } from '../common/toast.js';
import { onGrammar } from '../repository/code/grammars.js';
import { en as repositoryEn } from '../repository/texts/en.js';
import { zh as repositoryZh } from '../repository/texts/zh.js';
import { LIST_ADDRESS, parsePlace, sessionAddress } from './address.js';
import { forgetDevice, readDevice, saveDevice } from './hub/device_key.js';
import { explainHubFailure } from './hub/hub_failure.js';
import { HubConnection } from './hub_connection.js';
import { describeDevice, findCode, pairDevice } from './hub/pairing.js';
import {
  findNotice,
  noticesState,
  showNotice,
  titleOf,
  toggleNotices,
} from './sessions/notices.js';
import { statusOf } from './sessions/session_record.js';
import { keepShell, onNoticeTapped } from './shell.js';
import { en } from './texts/en.js';
import { zh } from './texts/zh.js';
import { connectionBanner } from './views/connection_banner.js';
import { listView } from './views/list_view.js';
import { pairView } from './views/pair_view.js';
import { SessionView } from './views/session_view.js';
import { openStartDialog } from './views/start_dialog.js';

/** @typedef {import('./sessions/session_record.js').SessionRecord} SessionRecord */
/** @typedef {import('./views/pair_view.js').PairState} PairState */

addTexts({ en: { ...repositoryEn, ...en }, zh: { ...repositoryZh, ...zh } });

const BASE_TITLE = 'codekernel';
const element = (/** @type {string} */ id) =>
  /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {HubConnection | null} */
let connection = null;
/** @type {SessionView | null} */
let sessionView = null;
let isArchiveOpen = false;
/** @type {PairState} */
const pairing = {
  step: 'asking',
  isRevoked: false,
  code: findCode(location.hash),
  name: describeDevice(navigator.userAgent),
  problem: '',
};
// Before anything else: the code is good once, and an address is kept in the history.
if (pairing.code) history.replaceState(null, '', location.pathname + LIST_ADDRESS);
let place = parsePlace(location.hash);

const noSession = document.createElement('p');
noSession.className = 'no-session';
const drawBar = makeRenderer(element('top-bar'), barTemplate);
const drawBanner = makeRenderer(element('connection'), bannerTemplate);
const drawList = makeRenderer(element('list'), listTemplate);

onThemeChange(drawBar);
onLanguageChange(() => {
  sessionView?.redraw();
  nameParts();
});
onGrammar(() => sessionView?.redraw());
onNoticeTapped((sessionId) => (location.hash = sessionAddress(sessionId)));
addEventListener('hashchange', show);
document.addEventListener('visibilitychange', () => {
  connection?.noteVisibility();
  if (!document.hidden) connection?.wake();
});
for (const event of ['online', 'pageshow']) addEventListener(event, () => connection?.wake());
addEventListener('offline', drawBanner);
nameParts();
begin();

/** Pair with the code of the address, or go on with the key of this device. */
function begin() {
  const device = readDevice();
  if (pairing.code) pair();
  else if (device) connect(device.key);
  show();
}

async function pair() {
  pairing.step = 'pairing';
  pairing.problem = '';
  drawList();
  try {
    const device = await pairDevice(pairing.code, pairing.name);
    saveDevice(device);
    connect(device.key);
    toast(t('agents.pair.done', { name: device.name }), { kind: 'success' });
  } catch (failure) {
    const device = readDevice();
    // An old link was opened once more.
    if (device) connect(device.key);
    else pairing.problem = explainHubFailure(failure);
  }
  pairing.step = 'asking';
  pairing.code = '';
  show();
}

/** @param {string} key */
function connect(key) {
  connection = new HubConnection(key, {
    revoked: forget,
    noteSession,
    deliver: (event) => sessionView?.apply(event),
    reload: async () => (await sessionView?.load()) ?? true,
    changed: draw,
  });
  connection.run();
  keepShell();
}

/** The hub has forgotten this device. */
function forget() {
  connection?.close();
  connection = null;
  forgetDevice();
  pairing.isRevoked = true;
  show();
}

/**
 * @param {SessionRecord | undefined} before
 * @param {SessionRecord | null} now
 */
function noteSession(before, now) {
  draw();
  const notice = now && findNotice(before, now, Boolean(connection?.store.isLoaded));
  if (!notice) return;
  const { kind, session } = notice;
  if (document.hidden) showNotice(notice).catch(console.warn);
  else if (session.id !== place.sessionId) {
    toast(t(`agents.notice.${kind}`, { name: titleOf(session) }), {
      action: { label: t('act.open'), run: () => (location.hash = sessionAddress(session.id)) },
    });
  }
}

/** The address has changed. */
function show() {
  place = parsePlace(location.hash);
  if (!connection || place.sessionId !== sessionView?.id) showSession();
  sessionView?.showChanges(place.view === 'changes');
  document.body.dataset.view = connection && place.sessionId ? 'session' : 'list';
  draw();
}

function showSession() {
  sessionView = null;
  if (connection && place.sessionId) {
    sessionView = new SessionView(place.sessionId, connection);
    sessionView.load();
  }
  element('session').replaceChildren(sessionView?.element ?? noSession);
}

function draw() {
  drawBar();
  drawBanner();
  drawList();
  sessionView?.draw();
  drawTitle();
}

/** How many wait for somebody, where one sees it without looking at the page. */
function drawTitle() {
  const sessions = connection ? [...connection.store.sessions.values()] : [];
  const count = sessions.filter((each) => statusOf(each) === 'waiting').length;
  document.title = count > 0 ? `(${count}) ${BASE_TITLE}` : BASE_TITLE;
  const badged = /** @type {any} */ (navigator);
  if (count > 0) badged.setAppBadge?.(count).catch(() => {});
  else badged.clearAppBadge?.().catch(() => {});
}

function nameParts() {
  element('list').setAttribute('aria-label', t('agents.sessions'));
  noSession.textContent = t('agents.choose');
}

async function start() {
  if (!connection) return;
  const { client, store, outbox } = connection;
  const machines = [...store.machines.values()].filter(({ isActive }) => isActive);
  const started = await openStartDialog(machines, client);
  if (!started) return;
  if (started.text) outbox.add(started.sessionId, started.text);
  location.hash = sessionAddress(started.sessionId);
}

function barTemplate() {
  return html`<a class="skip-link" href="#main">${t('bar.skip')}</a>
    <a class="brand" href=${LIST_ADDRESS}
      ><span class="brand-mark" aria-hidden="true"></span>codekernel</a
    >
    <div class="top-middle"></div>
    <div class="top-tools">
      ${connection ? noticesButton() : nothing} ${languageButton()} ${themeButton()}
    </div>`;
}

function noticesButton() {
  const state = noticesState();
  if (state === 'unsupported') return nothing;
  const label = t(`agents.notices.${state}`);
  return html`<button
    class="button small quiet icon ${state === 'on' ? 'pressed' : ''}"
    type="button"
    aria-label=${label}
    title=${label}
    aria-pressed=${String(state === 'on')}
    ?disabled=${state === 'blocked'}
    @click=${() => toggleNotices().then(drawBar)}
  >
    ${icon(state === 'on' ? 'bell' : 'bell-off')}
  </button>`;
}

function bannerTemplate() {
  return connection ? connectionBanner(connection.status, () => connection?.wake()) : nothing;
}

function listTemplate() {
  if (!connection) {
    return pairView(pairing, {
      change: (part) => Object.assign(pairing, part),
      pair,
    });
  }
  return html`<h1 class="list-title">${t('agents.sessions')}</h1>
    ${listView(
      connection.store,
      { currentId: place.sessionId, isArchiveOpen },
      {
        start,
        toggleArchive: () => {
          isArchiveOpen = !isArchiveOpen;
          drawList();
        },
      },
    )}`;
}
