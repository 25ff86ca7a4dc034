/** Chinese words of the repository page. */

import { agentZh } from './agent_zh.js';
import { findingZh } from './finding_zh.js';
import { keepingZh } from './keeping_zh.js';
import { talkingZh } from './talking_zh.js';

/** @type {import('../../common/text_format.js').Texts} */
export const zh = { ...findingZh, ...talkingZh, ...agentZh, ...keepingZh };
