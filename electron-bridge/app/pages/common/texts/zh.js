/** Chinese, simplified. */

import { reposZh } from './repos_zh.js';
import { settingsZh } from './settings_zh.js';
import { sharedZh } from './shared_zh.js';

/** @type {import('../text_format.js').Texts} */
export const zh = { ...sharedZh, ...reposZh, ...settingsZh };
