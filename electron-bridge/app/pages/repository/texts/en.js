/** English words of the repository page. */

import { agentEn } from './agent_en.js';
import { searchEn } from './search_en.js';
import { indexEn } from './index_en.js';
import { insightEn } from './insight_en.js';
import { conversationEn } from './conversation_en.js';

/** @type {import('../../common/text_format.js').Texts} */
export const en = { ...searchEn, ...conversationEn, ...agentEn, ...indexEn, ...insightEn };
