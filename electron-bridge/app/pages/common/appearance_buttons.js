/** The buttons of every page's bar: the other language, the next theme. */

import { language, listLanguages, setLanguage, t } from './i18n.js';
import { icon } from './icons.js';
import { html } from './lit.js';
import { setTheme, theme, THEMES } from './theme.js';

/** @type {Readonly<Record<import('./theme.js').Theme, 'monitor' | 'sun' | 'moon'>>} */
const THEME_ICONS = Object.freeze({ system: 'monitor', light: 'sun', dark: 'moon' });

/** The other language; of several, a choice. */
export function languageButton() {
  const languages = listLanguages();
  const others = languages.filter(({ code }) => code !== language());
  if (others.length > 1) return languageChoice(languages);
  const [{ code, locale, name }] = others;
  return html`<button
    class="button small quiet"
    type="button"
    lang=${locale}
    @click=${() => setLanguage(code)}
  >
    ${name}
  </button>`;
}

/** @param {ReturnType<typeof listLanguages>} languages */
function languageChoice(languages) {
  return html`<select
    class="select"
    aria-label=${t('bar.language')}
    @change=${(/** @type {any} */ { target }) => setLanguage(target.value)}
  >
    ${languages.map(
      ({ code, locale, name }) =>
        html`<option value=${code} lang=${locale} ?selected=${code === language()}>
          ${name}
        </option>`,
    )}
  </select>`;
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
