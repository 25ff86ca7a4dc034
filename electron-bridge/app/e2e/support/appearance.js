/** How a page looks: its theme, its language, and when it has come to rest. */

/**
 * As if another page had changed them: this one follows.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} theme
 * @param {string} language
 */
export async function setAppearance(page, theme, language) {
  await page.evaluate(
    ([newTheme, newLanguage]) => {
      const values = { 'codekernel.theme': newTheme, 'codekernel.language': newLanguage };
      for (const [key, newValue] of Object.entries(values)) {
        const oldValue = localStorage.getItem(key);
        localStorage.setItem(key, newValue);
        dispatchEvent(
          new StorageEvent('storage', { key, newValue, oldValue, storageArea: localStorage }),
        );
      }
    },
    [theme, language],
  );
  await page.waitForFunction(
    ([newTheme, newLanguage]) =>
      document.documentElement.dataset.theme === newTheme &&
      document.documentElement.lang.startsWith(newLanguage),
    [theme, language],
  );
}

/**
 * A colour half way through a transition is nobody's choice.
 *
 * @param {import('playwright-core').Page} page
 */
export async function waitUntilSettled(page) {
  await page.evaluate(async () => {
    const finite = document
      .getAnimations()
      .filter((one) => one.effect?.getComputedTiming().iterations !== Infinity);
    await Promise.allSettled(finite.map((one) => one.finished));
  });
}
