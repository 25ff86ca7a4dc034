/** English words of the repository page. */

import { agentEn } from './agent_en.js';
import { findingEn } from './finding_en.js';
import { keepingEn } from './keeping_en.js';
import { talkingEn } from './talking_en.js';

/** @type {import('../../common/text_format.js').Texts} */
export const en = { ...findingEn, ...talkingEn, ...agentEn, ...keepingEn };
