/** What the palette can do besides going to a name. */

import { language, setLanguage, t } from '../common/i18n.js';
import { navigate } from '../common/navigation.js';
import { setTheme, THEMES } from '../common/theme.js';

/** @typedef {import('./palette_items.js').PaletteItem} PaletteItem */

const TABS = ['search', 'talk', 'index', 'usage'];
const SECTIONS = ['search', 'models', 'conversation', 'performance'];

/**
 * @param {string} repoName of the repository that is shown, or ''
 * @returns {PaletteItem[]}
 */
export function listActions(repoName) {
  const action = (/** @type {string} */ label, /** @type {() => unknown} */ run) => ({
    kind: /** @type {const} */ ('action'),
    label,
    run,
  });
  const other = language() === 'en' ? 'zh' : 'en';
  return [
    ...(repoName
      ? TABS.map((part) =>
          action(t('palette.tab', { name: t(`tab.${part}`) }), () =>
            navigate({ page: 'repository', repoName, part }),
          ),
        )
      : []),
    action(t('palette.repos'), () => navigate({ page: 'repos' })),
    action(t('palette.add'), () => navigate({ page: 'repos', part: 'add' })),
    action(t('palette.settings'), () => navigate({ page: 'settings' })),
    ...SECTIONS.map((part) =>
      action(t('palette.section', { name: t(`settings.${part}`) }), () =>
        navigate({ page: 'settings', part }),
      ),
    ),
    ...THEMES.map((theme) =>
      action(t('palette.theme', { name: t(`theme.${theme}`) }), () => setTheme(theme)),
    ),
    action(t('palette.language', { name: other === 'zh' ? '中文' : 'English' }), () =>
      setLanguage(other),
    ),
  ];
}
