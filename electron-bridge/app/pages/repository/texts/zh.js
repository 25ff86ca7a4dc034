/** Chinese words of the repository page. */

import { agentZh } from './agent_zh.js';
import { searchZh } from './search_zh.js';
import { indexZh } from './index_zh.js';
import { insightZh } from './insight_zh.js';
import { conversationZh } from './conversation_zh.js';

/** @type {import('../../common/text_format.js').Texts} */
export const zh = { ...searchZh, ...conversationZh, ...agentZh, ...indexZh, ...insightZh };
