/**
 * Sets language and theme before anything is painted. A classic script on purpose: modules wait.
 *
 * i18n.js and theme.js do the same again, with all they know, as soon as they run.
 */
(() => {
  const root = document.documentElement;
  try {
    const theme = localStorage.getItem('codekernel.theme');
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    const language = localStorage.getItem('codekernel.language') ?? navigator.language;
    root.lang = language.startsWith('zh') ? 'zh-CN' : 'en';
  } catch {
    // without storage the system's choice stands
  }
})();
