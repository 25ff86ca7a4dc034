/** `window.kernel`: what a page sees, in Electron (preload.cjs) and wherever else pages are shown. */

import type { ConversationPart, DonePart, KernelState, Question, SessionState } from './index.js';
import type { EmbeddingStatus, MainRequests, SessionRequests } from './types/protocol.js';

/** What a promise of `window.kernel` is rejected with: a plain object, not an Error. */
export interface KernelFailure {
  name: 'KernelError';
  /** The kernel's code, or one of the bridge's. */
  code: string;
  /** A sentence for a person. */
  message: string;
  /** How a conversation ended that failed on the way. */
  done?: DonePart;
}

/** A conversation under way. */
export interface WindowTalk {
  /** Resolves after `done`; rejects with a KernelFailure. */
  finished: Promise<void>;
  /** Asks the kernel to stop; what it still says, and `done`, come all the same. */
  stop(): void;
}

type Main<Type extends keyof MainRequests> = (
  fields: MainRequests[Type]['fields'],
) => Promise<MainRequests[Type]['data']>;
type InSession<Type extends keyof SessionRequests> = (
  fields: SessionRequests[Type]['fields'],
) => Promise<SessionRequests[Type]['data']>;

export interface WindowEvents {
  /** The latest word on each file that was mentioned since the last time. */
  embeddingStatus: Omit<EmbeddingStatus, 'type'>[];
  kernelState: { state: KernelState; failure?: KernelFailure };
  sessionPrepared: {};
  /** It is being opened again. */
  sessionCrashed: { failure: KernelFailure };
  /** It is not; openRepo tries once more. */
  sessionLost: { failure: KernelFailure };
}

export interface WindowKernel {
  getRepos(): ReturnType<Main<'getRepos'>>;
  createRepo: Main<'createRepo'>;
  deleteRepo: Main<'deleteRepo'>;
  getSettings(): ReturnType<Main<'getSettings'>>;
  checkSettings(): ReturnType<Main<'checkSettings'>>;
  updateSettings(): ReturnType<Main<'updateSettings'>>;
  getModels(): ReturnType<Main<'getModels'>>;
  getGenerationModels(): ReturnType<Main<'getGenerationModels'>>;
  getAvailableHardware(): ReturnType<Main<'getAvailableHardware'>>;
  setApiKey: Main<'setApiKey'>;
  /** Whether a key is stored under this name; the key itself stays in the main process. */
  hasApiKey(fields: { name: string }): Promise<boolean>;
  testApi: Main<'testApi'>;

  /** Opens a repository for this window; a page that was loaded again gets the session it had. */
  openRepo(fields: {
    repoName: string;
  }): Promise<{ repoName: string; path: string; state: SessionState }>;
  closeRepo(): Promise<void>;
  search: InSession<'search'>;
  getChunksInfo(): ReturnType<InSession<'getChunksInfo'>>;
  getIndexStatus(): ReturnType<InSession<'getIndexStatus'>>;
  pauseIndexing: InSession<'pauseIndexing'>;
  getSkippedFiles: InSession<'getSkippedFiles'>;
  readLines: InSession<'readLines'>;
  getApiUsage(): ReturnType<InSession<'getApiUsage'>>;
  getConversations(): ReturnType<InSession<'getConversations'>>;
  getConversation: InSession<'getConversation'>;
  deleteConversation: InSession<'deleteConversation'>;
  answerPermission: InSession<'answerPermission'>;
  undoAgentTurn: InSession<'undoAgentTurn'>;
  converse(question: Question, onPart: (part: ConversationPart) => void): WindowTalk;

  /** A call that the app itself offers this window. */
  host(name: string, fields?: Record<string, unknown>): Promise<any>;
  /** Listen; the result ends it. */
  on<Type extends keyof WindowEvents>(
    type: Type,
    listener: (news: WindowEvents[Type]) => void,
  ): () => void;
}

declare global {
  interface Window {
    kernel: WindowKernel;
  }
}
