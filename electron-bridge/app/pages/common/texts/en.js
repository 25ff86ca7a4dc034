/** English. */

import { reposEn } from './repos_en.js';
import { settingsEn } from './settings_en.js';
import { sharedEn } from './shared_en.js';

/** @type {import('../text_format.js').Texts} */
export const en = { ...sharedEn, ...reposEn, ...settingsEn };
