/** The application: one document for every address; pages stay as they are while others are shown. */

import { addTexts, onLanguageChange, t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { kernel } from '../common/kernel.js';
import { onKernelState } from '../common/kernel_state.js';
import { html, nothing, render } from '../common/lit.js';
import { currentPlace, onNavigate } from '../common/navigation.js';
import { makeRenderer } from '../common/renderer.js';
import { failureState, loadingState } from '../common/states.js';
import { mountTopBar } from '../common/top_bar.js';
import { kernelBanner } from './kernel_banner.js';
import { openPalette } from './palette.js';
import { en } from './texts/en.js';
import { zh } from './texts/zh.js';

/** @typedef {import('../common/page_address.js').Place} Place */

/**
 * A page that was mounted once.
 *
 * @typedef {object} MountedPage
 * @property {(place: Place) => void} show also when only the rest of the place has changed
 * @property {() => void} hide
 * @property {() => string} title
 * @property {() => unknown} [middle] its part of the bar
 * @property {() => void} [remove] what it shows is gone: stop all it does
 */

/**
 * @typedef {object} Shell
 * @property {() => void} draw the title or the bar's middle has changed
 */

/** @typedef {(container: HTMLElement, shell: Shell, place: Place) => MountedPage} Mount */

/** @type {Record<import('../common/page_address.js').Page, () => Promise<{ mount: Mount }>>} */
const MODULES = {
  repos: () => import('../repos/main.js'),
  repository: () => import('../repository/main.js'),
  settings: () => import('../settings/main.js'),
};

addTexts({ en, zh });

/** What fills the window, and scrolls inside. */
const FILLING = 'repository';

/**
 * A page, in the document only while it is shown: ids are those of one page.
 *
 * @typedef {object} Shown
 * @property {HTMLElement} container
 * @property {MountedPage} page
 * @property {Map<Element, number>} scrolled how far, as what leaves the document forgets it
 */

/** @type {Map<string, Shown>} */
const mounted = new Map();
const main = /** @type {HTMLElement} */ (document.getElementById('main'));
/** @type {Shown | null} */
let current = null;
let number = 0;
/** What is shown while there is no page. */
const instead = document.createElement('div');
const drawBar = mountTopBar(() => current?.page.middle?.() ?? nothing, paletteButton);
const shell = { draw };
/** What is wrong on every page. */
const above = document.createElement('div');
const drawAbove = makeRenderer(above, kernelBanner);

/** @param {Place} place */
async function show(place) {
  const key = keyOf(place);
  if (current && mounted.get(key) === current) {
    current.page.show(place);
    draw();
    return;
  }
  number += 1;
  const mine = number;
  const isWanted = () => mine === number;
  const next =
    mounted.get(key) ??
    (await mount(key, place, isWanted).catch((failure) => isWanted() && showFailure(failure)));
  if (!next || mine !== number) return;
  leave();
  current = next;
  document.body.classList.toggle('repository-page', place.page === FILLING);
  main.replaceChildren(next.container);
  for (const [element, top] of next.scrolled) element.scrollTop = top;
  const focused = document.activeElement;
  next.page.show(place);
  draw();
  // Focus that was in the page before, or in nothing, would be lost.
  if (document.activeElement === focused && (!focused || focused === document.body)) main.focus();
}

/**
 * @param {string} key
 * @param {Place} place
 * @param {() => boolean} isWanted
 */
async function mount(key, place, isWanted) {
  const module = await MODULES[place.page]();
  if (!isWanted()) return null;
  const container = document.createElement('div');
  container.className = place.page === FILLING ? 'repository' : 'page';
  const shown = {
    container,
    page: module.mount(container, shell, place),
    scrolled: new Map([[document.documentElement, 0]]),
  };
  mounted.set(key, shown);
  return shown;
}

/**
 * Its files did not come; a document that is loaded anew also gets the browser let in again.
 *
 * @param {unknown} failure
 */
function showFailure(failure) {
  leave();
  current = null;
  render(failureState(failure, { retry: () => location.reload() }), instead);
  instead.className = 'page';
  document.body.classList.remove('repository-page');
  main.replaceChildren(instead);
  draw();
}

function leave() {
  if (!current) return;
  const { container, page, scrolled } = current;
  scrolled.clear();
  for (const element of [document.documentElement, ...container.querySelectorAll('*')]) {
    if (element.scrollTop > 0 || element === document.documentElement) {
      scrolled.set(element, element.scrollTop);
    }
  }
  page.hide();
}

function draw() {
  drawBar();
  if (current) document.title = current.page.title();
}

/** @param {Place} place each repository is a page of its own */
function keyOf({ page, repoName = '' }) {
  return page === 'repository' ? `${page} ${repoName}` : page;
}

/** What shows a repository that is gone has nothing left to show. */
async function forgetRemoved() {
  const { repoList } = await kernel.getRepos();
  const keys = new Set(repoList.map(({ name }) => keyOf({ page: 'repository', repoName: name })));
  for (const [key, shown] of mounted) {
    if (!key.startsWith('repository ') || keys.has(key) || shown === current) continue;
    shown.page.remove?.();
    mounted.delete(key);
  }
}

function paletteButton() {
  const label = t('palette.open');
  return html`<button
    class="button small quiet icon"
    type="button"
    aria-label=${label}
    aria-keyshortcuts="Control+K"
    title=${`${label} (Ctrl/⌘ K)`}
    @click=${openPalette}
  >
    ${icon('search')}
  </button>`;
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const isPalette = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
  if (!isPalette || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (!document.querySelector('dialog[open]')) openPalette();
}

/** The other pages are at hand when they are asked for. */
function loadOthers() {
  for (const load of Object.values(MODULES)) load().catch(() => {}); // loaded again when needed
}

render(loadingState(), instead);
main.append(instead);
main.before(above);
onKernelState(drawAbove);
document.addEventListener('keydown', onKey);
onNavigate((place) => show(place));
onLanguageChange(draw);
kernel.on('reposChanged', () => forgetRemoved().catch(() => {})); // the kernel is away: next time
await show(currentPlace());
(globalThis.requestIdleCallback ?? setTimeout)(loadOthers);
