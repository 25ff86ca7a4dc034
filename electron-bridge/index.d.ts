/** The bridge's API, for an Electron main process. The wire's own types are in types/protocol.d.ts. */

import type { EventEmitter } from 'node:events';

import type {
  ChangeEntry,
  CitationEntry,
  EmbeddingStatus,
  KernelCode,
  KernelServerCrashed,
  MainRequests,
  MessagePart,
  PermissionAnsweredPart,
  PermissionPart,
  ResultContent,
  SessionRequests,
  SpentEntry,
  TaskPart,
} from './types/protocol.js';

export * from './types/protocol.js';
export type { WindowKernel, KernelFailure, WindowConversation } from './window-kernel.js';

/** The codes of what the kernel could not say itself. */
export declare const Reason: {
  readonly TIMEOUT: 'TIMEOUT';
  readonly ABORTED: 'ABORTED';
  readonly KERNEL_CRASHED: 'KERNEL_CRASHED';
  readonly KERNEL_GAVE_UP: 'KERNEL_GAVE_UP';
  readonly KERNEL_STOPPED: 'KERNEL_STOPPED';
  readonly KERNEL_NOT_STARTED: 'KERNEL_NOT_STARTED';
  readonly KERNEL_NOT_FOUND: 'KERNEL_NOT_FOUND';
  readonly QUEUE_FULL: 'QUEUE_FULL';
  readonly TOO_LARGE: 'TOO_LARGE';
  readonly SESSION_CLOSED: 'SESSION_CLOSED';
  readonly FORBIDDEN: 'FORBIDDEN';
};
export type BridgeCode = (typeof Reason)[keyof typeof Reason];

/** A request that failed. */
export declare class KernelError extends Error {
  constructor(code: string, message: string, more?: { cause?: unknown; done?: DonePart });
  readonly code: KernelCode | BridgeCode;
  /** How a conversation ended that failed on the way. */
  readonly done?: DonePart;
  toJSON(): { name: string; code: string; message: string };
}

export interface RequestOptions {
  /** For the reply; a minute by default, ten for getChunksInfo. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Overtakes what waits to be sent. */
  urgent?: boolean;
}

type Fields<Request extends { fields: object }> = keyof Request['fields'] extends never
  ? [fields?: Request['fields'], options?: RequestOptions]
  : {} extends Request['fields']
    ? [fields?: Request['fields'], options?: RequestOptions]
    : [fields: Request['fields'], options?: RequestOptions];

/** The last part of every conversation that did not fail. */
export interface DonePart {
  type: 'done';
  content: '';
  outcome?: string;
  citations?: CitationEntry[];
  masked?: number;
  /** Why the turn is in the kernel's memory alone; absent if it is on the disk. */
  unsaved?: string;
  usage?: SpentEntry;
  /** Of an agent's turn: by this it can be undone. */
  time?: number;
  changes?: ChangeEntry[];
}

/** `message` and `permission` come from an agent, the others from a question. */
export type ConversationPart =
  | MessagePart
  | PermissionPart
  | PermissionAnsweredPart
  | TaskPart
  | { type: 'annotation' | 'search' | 'answer'; content: string }
  | { type: 'result'; content: ResultContent }
  | { type: 'doneRetrieval'; content: '' }
  | DonePart;

export interface Question {
  modelName: string;
  conversationId: number;
  query: string;
  /** A task for an agent, not a question. It goes on when the page that gave it is gone. */
  isAgent?: boolean;
  /** Nothing new: show what is at work in this conversation. */
  isFollowed?: boolean;
  /** A question that is answered without the one who asked, as every one of a window is. */
  goesOn?: boolean;
  /** Each edit of the agent waits as a diff until somebody has accepted it. */
  reviews?: boolean;
}

export interface ConverseOptions {
  /** Asks the kernel to stop; what it still says, and `done`, are yielded. */
  signal?: AbortSignal;
  /** How long after a stop or a failure `done` is waited for. */
  doneTimeoutMs?: number;
  /** For the first reply. */
  timeoutMs?: number;
}

export type SessionState = 'opening' | 'prepared' | 'crashed' | 'lost' | 'closed';

interface SessionEvents {
  prepared: [];
  embeddingStatus: [message: EmbeddingStatus];
  /** It is being opened again. */
  crashed: [reason: KernelError];
  /** It is not; reopen() may help. */
  lost: [reason: KernelError];
  closed: [];
}

/** A repository that is open for one window, through every crash until it is closed. */
export declare class RepoSession extends EventEmitter<SessionEvents> {
  readonly id: number;
  readonly repoName: string;
  readonly path: string;
  readonly owner: unknown;
  readonly state: SessionState;
  prepared(): Promise<void>;
  request<Type extends Exclude<keyof SessionRequests, 'beginConversation' | 'beginAgentTurn'>>(
    type: Type,
    ...rest: Fields<SessionRequests[Type]>
  ): Promise<SessionRequests[Type]['data']>;
  converse(
    question: Question,
    options?: ConverseOptions,
  ): AsyncGenerator<ConversationPart, void, void>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export type KernelState =
  'idle' | 'starting' | 'running' | 'restarting' | 'stopping' | 'stopped' | 'failed';

interface BridgeEvents {
  state: [state: KernelState, reason: KernelError | null];
  kernelServerCrashed: [message: KernelServerCrashed];
  sessionPrepared: [session: RepoSession];
  embeddingStatus: [session: RepoSession, message: EmbeddingStatus];
  sessionCrashed: [session: RepoSession, reason: KernelError];
  sessionLost: [session: RepoSession, reason: KernelError];
  repoDeleted: [repoName: string];
  /** By any program; sent after `request('watchRepos')`. */
  reposChanged: [];
}

export interface LocateOptions {
  /** The program and its arguments; overrides everything else. */
  command?: string[];
  /** Electron's `process.resourcesPath`. */
  resourcesPath?: string;
  /** The kernel's project; by default the folder above this package. */
  project?: string;
  environ?: Record<string, string | undefined>;
  platform?: NodeJS.Platform;
}

export interface BridgeOptions extends Omit<LocateOptions, 'platform'> {
  userData: string;
  /** Where stderr goes; by default userData/logs/kernel-stderr.log. */
  logFile?: string;
  restarts?: { maxRestarts?: number; delaysMs?: number[]; stableAfterMs?: number };
  readyTimeoutMs?: number;
  stopTimeoutMs?: number;
  /** Bytes of the longest answer. */
  maxLineBytes?: number;
  queue?: { lines?: number; bytes?: number };
}

type PlainMainRequest = Exclude<
  keyof MainRequests,
  'openRepo' | 'openFolder' | 'closeRepo' | 'stopAll'
>;

/** The kernel as an Electron main process sees it. */
export declare class KernelBridge extends EventEmitter<BridgeEvents> {
  constructor(options: BridgeOptions);
  readonly state: KernelState;
  readonly pid: number | undefined;
  readonly sessions: RepoSession[];
  readonly log: { readonly file: string; write(text: string): void; flush(): Promise<void> };
  start(): Promise<void>;
  stop(): Promise<{ code: number | null; killed: boolean }>;
  request<Type extends PlainMainRequest>(
    type: Type,
    ...rest: Fields<MainRequests[Type]>
  ): Promise<MainRequests[Type]['data']>;
  openRepo(repoName: string, options?: { owner?: unknown }): Promise<RepoSession>;
  /** The repository of a folder, which is registered if no program has done so yet. */
  openFolder(folder: string, options?: { owner?: unknown }): Promise<RepoSession>;
  session(sessionId: number): RepoSession | undefined;
}

/** The parts of Electron that are handed in; Electron's own types fit. */
export interface KernelIpcOptions {
  ipcMain: any;
  bridge: KernelBridge;
  /** What the app itself offers its pages. */
  hostCalls?: Record<string, (fields: Record<string, any>, contents: any) => unknown>;
}

/** Answers the calls of windows; checks which window calls, and what. */
export declare class KernelIpc {
  constructor(options: KernelIpcOptions);
  addWindow(contents: any, rights: { page: string; calls: readonly string[] }): void;
}

export declare const MAIN_PAGE_CALLS: readonly string[];
export declare const REPOSITORY_PAGE_CALLS: readonly string[];

export declare function locateKernel(options?: LocateOptions): {
  command: string;
  args: string[];
  cwd: string;
  how: string;
};
/** The folder that desktop, browser, terminal and MCP share. */
export declare function locateUserData(options?: {
  environ?: Record<string, string | undefined>;
  platform?: NodeJS.Platform;
  home?: string;
}): string;
export declare function kernelEnvironment(
  userData: string,
  environ?: Record<string, string | undefined>,
): Record<string, string | undefined>;

export declare const CONTENT_SECURITY_POLICY: string;
export declare function secureWindow<Options extends { preload: string }>(
  options: Options,
): Omit<Options, 'preload'> & { webPreferences: Record<string, unknown> };
export declare function guardContents(
  contents: any,
  options?: { openExternal?: (url: string) => void },
): void;
/** Switches by which Chromium fetches, reports and looks up nothing by itself. */
export declare const OFFLINE_SWITCHES: Readonly<Record<string, string>>;
/** Sets them; call it before the app is ready. */
export declare function goOffline(app: any): void;
export declare function guardSession(session: any, options: { scheme: string }): void;

export declare const PAGES_SCHEME: string;
export declare const privilegedScheme: {
  readonly scheme: string;
  readonly privileges: { standard: boolean; secure: boolean; supportFetchAPI: boolean };
};
export declare function servePages(protocol: any, folder: string): void;
export declare function pageResponse(
  request: { url: string; method?: string },
  folder: string,
): Promise<Response>;
