/** English words of the repository page. */

import { findingEn } from './finding_en.js';
import { keepingEn } from './keeping_en.js';
import { talkingEn } from './talking_en.js';

/** @type {import('../../common/wording.js').Words} */
export const en = { ...findingEn, ...talkingEn, ...keepingEn };
