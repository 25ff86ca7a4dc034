/** English. */

import { reposEn } from './repos_en.js';
import { settingsEn } from './settings_en.js';
import { sharedEn } from './shared_en.js';

/** @type {import('../wording.js').Words} */
export const en = { ...sharedEn, ...reposEn, ...settingsEn };
