/** `window.kernel`: what a page sees, in Electron (preload.cjs) and wherever else pages are shown. */

import type { ConversationPart, DonePart, KernelState, Question, SessionState } from './index.js';
import type { ForwardedCalls, HostCall } from './types/page_api.js';
import type { EmbeddingStatus } from './types/protocol.js';

/** What a promise of `window.kernel` is rejected with: a plain object, not an Error. */
export interface KernelFailure {
  name: 'KernelError';
  /** The kernel's code, or one of the bridge's. */
  code: string;
  /** A sentence for the user. */
  message: string;
  /** How a conversation ended that failed on the way. */
  done?: DonePart;
}

/** A running conversation. */
export interface WindowConversation {
  /** Resolves after `done`; rejects with a KernelFailure. */
  finished: Promise<void>;
  /** Asks the kernel to stop; what it still says, and `done`, come all the same. */
  stop(): void;
}

export interface WindowEvents {
  /** The latest word on each file that was mentioned since the last time. */
  embeddingStatus: Omit<EmbeddingStatus, 'type'>[];
  kernelState: { state: KernelState; failure?: KernelFailure };
  /** A repository was added or deleted, by any program. */
  reposChanged: {};
  /** The app wants the page to go to an address of its own, say of a link that was opened. */
  placeRequested: { address: string };
  sessionPrepared: { repoName: string };
  /** It is being opened again. */
  sessionCrashed: { repoName: string; failure: KernelFailure };
  /** It is not; openRepo tries once more. */
  sessionLost: { repoName: string; failure: KernelFailure };
}

export interface WindowKernel extends ForwardedCalls {
  /** Whether a key is stored under this name; the key itself stays in the main process. */
  hasApiKey(fields: { name: string }): Promise<boolean>;

  /**
   * Shows a repository in this window: calls are about the one that was opened last. A page that
   * was loaded again, or comes back to a repository, gets the session it had; an answer that is
   * being written in another one goes on.
   */
  openRepo(fields: {
    repoName: string;
  }): Promise<{ repoName: string; path: string; state: SessionState }>;
  closeRepo(): Promise<void>;
  converse(question: Question, onPart: (part: ConversationPart) => void): WindowConversation;

  /** A call that the app itself offers this window. */
  host(name: HostCall, fields?: Record<string, unknown>): Promise<any>;
  /** Where a file or folder is that was dropped onto the window; a browser does not say it. */
  pathOfFile?(file: File): string;
  /** Listen; the result ends it. */
  on<Type extends keyof WindowEvents>(
    type: Type,
    listener: (event: WindowEvents[Type]) => void,
  ): () => void;
}

declare global {
  interface Window {
    kernel: WindowKernel;
  }
}
