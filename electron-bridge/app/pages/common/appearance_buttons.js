/** The buttons of every page's bar: the other language, the next theme. */

import { language, setLanguage, t } from './i18n.js';
import { icon } from './icons.js';
import { html } from './lit.js';
import { setTheme, theme, THEMES } from './theme.js';

/** @type {Readonly<Record<import('./theme.js').Theme, 'monitor' | 'sun' | 'moon'>>} */
const THEME_ICONS = Object.freeze({ system: 'monitor', light: 'sun', dark: 'moon' });

export function languageButton() {
  const other = language() === 'en' ? 'zh' : 'en';
  const name = other === 'zh' ? '中文' : 'English';
  return html`<button
    class="button small quiet"
    type="button"
    lang=${other === 'zh' ? 'zh-CN' : 'en'}
    @click=${() => setLanguage(other)}
  >
    ${name}
  </button>`;
}

export function themeButton() {
  const now = theme();
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  const label = t('bar.theme', { now: t(`theme.${now}`), next: t(`theme.${next}`) });
  return html`<button
    class="button small quiet icon"
    type="button"
    aria-label=${label}
    title=${label}
    @click=${() => setTheme(next)}
  >
    ${icon(THEME_ICONS[now])}
  </button>`;
}
