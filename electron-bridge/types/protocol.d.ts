/**
 * What is said on the wire, version 1.0; PROTOCOL.md explains it.
 *
 * Made by scripts/make_bridge_types.py from kernel/codekernel/protocol. Do not edit.
 */

/** The codes of a reply that failed, spelt as the wire spells them. */
export type KernelCode =
  | 'API_KEY_NOT_FOUND'
  | 'INVALID_PATH'
  | 'INVALID_SETTINGS'
  | 'INVALID_TYPE'
  | 'NETWORK_ERROR'
  | 'PERMISSION_ANSWERED'
  | 'REPO_NAME_EXIST'
  | 'REPO_NAME_NOT_MATCH'
  | 'REPO_NOT_EXIST'
  | 'REPO_NOT_FOUND'
  | 'SESSION_BUSY'
  | 'SESSION_EXISTS'
  | 'SESSION_NOT_FOUND'
  | 'TESST_FAILED'
  | 'UNKNOW_ERROR'
  | 'WRONG_PARAM';

/** A device, such as `webapp`, `cli`, `lark` or `telegram-bot`, and its user. */
export interface ActorEntry {
  device: string;
  name?: string;
}

/** An element of `agents`, which is not in the front end's document: an agent of ACP. */
export interface AgentCommandEntry {
  name: string;
  command: string;
  args?: string[];
  env?: Record<string, string>;
}

/** Say whether the repository may be sent to a remote model; an addition to the document. */
export interface AllowEndpoint {
  type: 'allowEndpoint';
  model: string;
  allowed: boolean;
}

/** Answer a permission; the first answer wins, and may be sent again under its `answerKey`. */
export interface AnswerAgentPermission {
  type: 'answerAgentPermission';
  id: string;
  permissionId: string;
  allowed: boolean;
  actor: ActorEntry;
  forTurn?: boolean;
  optionId?: string;
  answerKey?: string;
}

/**
 * Say whether a tool that waits may be used. `allowTurn`: and all others that do the same;
 * `allowRule`: and whatever its rule allows, from now on. `hunks`: of an edit that is allowed only
 * these, by their place in the diff.
 */
export interface AnswerPermission {
  type: 'answerPermission';
  conversationId: number;
  toolUseId: string;
  decision: 'allow' | 'allowTurn' | 'allowRule' | 'deny';
  hunks?: number[] | null;
}

/** Ask about the folder of a session; `kind` says what. */
export interface AskAgentFolder {
  type: 'askAgentFolder';
  id: string;
  kind: string;
  path?: string;
  staged?: boolean;
  query?: string;
  limit?: number;
}

/**
 * The first line of a client at the local endpoint. `mode` is what follows: "lines" of this
 * protocol, "mcp" about the repository in `folder`, or "control" for getKernelStatus and stopKernel
 * alone, which stay the same in every version. `clientVersion`: of codekernel; an older kernel
 * retires. `reattaches`: whether the client goes on with another kernel by itself. `followRoots`:
 * with "mcp", the roots of the client come before `folder`, which may be empty. `mirror`: copy the
 * histories of what this client asks, or has open, into their repositories.
 */
export interface Attach {
  type: 'attach';
  protocolVersion: string;
  client: string;
  pid?: number | null;
  mode?: string;
  folder?: string;
  mirror?: boolean;
  clientVersion?: string;
  reattaches?: boolean;
  followRoots?: boolean;
}

/**
 * Give an agent a task; its work is streamed as replies to this one request. `session` goes on with
 * that one; `tools` are all it gets; what is not in `allow` is asked for, or refused without
 * `asks`; `detailed`: with its session, its rounds, whole results and their data; `within`: the
 * repository is only reached through this folder; `planFirst`: no tool runs before the model has
 * decided on a plan; `reviews`: each edit waits as a diff.
 */
export interface BeginAgentTurn {
  type: 'beginAgentTurn';
  modelName: string;
  conversationId: number;
  query: string;
  session?: string;
  tools?: string[] | null;
  allow?: ('deletes' | 'runs')[];
  asks?: boolean;
  rounds?: number | null;
  detailed?: boolean;
  within?: string;
  planFirst?: boolean;
  reviews?: boolean;
  turnKey?: string;
}

/**
 * Ask a question; the answer is streamed as replies to this one request. `goesOn`: it is answered
 * without the window, which may come back with followConversation. `turnKey`: an id of the client's
 * own, by which a request that is sent again is known.
 */
export interface BeginConversation {
  type: 'beginConversation';
  modelName: string;
  conversationId: number;
  query: string;
  turnKey?: string;
  goesOn?: boolean;
}

/** Take back a message that still waits. */
export interface CancelAgentMessage {
  type: 'cancelAgentMessage';
  id: string;
  messageId: string;
}

/** Say whether settings-modified.json would be accepted. */
export interface CheckSettings {
  type: 'checkSettings';
}

/** Delete the indexes that nobody uses: of folders that are gone, or unused for `days`. */
export interface CleanIndexes {
  type: 'cleanIndexes';
  days: number;
  dryRun?: boolean;
}

/** End a window's session; the document says sessionId here and windowId in the reply. */
export interface CloseRepo {
  type: 'closeRepo';
  sessionId?: number | null;
  windowId?: number | null;
}

/** `conversationSettings`. */
export interface ConversationSection {
  generationModel: GenerationModelSettings[];
  historyLength: number;
  maxRounds?: number;
  summarizeHistory?: boolean;
  currency?: string;
}

/** Register a folder; it is not opened. */
export interface CreateRepo {
  type: 'createRepo';
  repoName: string;
  path: string;
}

/** Delete a session and its messages. */
export interface DeleteAgentSession {
  type: 'deleteAgentSession';
  id: string;
}

/** Delete one of them for good; an addition to the document. */
export interface DeleteConversation {
  type: 'deleteConversation';
  conversationId: number;
}

/** Be asked again about what a rule allowed. */
export interface DeletePermissionRule {
  type: 'deletePermissionRule';
  id: string;
}

/** Forget a repository and delete its index; the folder itself is never touched. */
export interface DeleteRepo {
  type: 'deleteRepo';
  repoName: string;
}

/** An element of `searchSettings.embeddingConfig.configs`. */
export interface EmbeddingConfigEntry {
  name: string;
  modelName: string;
  inputLength: number;
  selected?: boolean;
}

/** `searchSettings.embeddingConfig`; no configs mean the bundled ones. */
export interface EmbeddingSection {
  configs: EmbeddingConfigEntry[];
}

/** Look for servers of models on this machine, at their usual ports; an addition. */
export interface FindLocalServers {
  type: 'findLocalServers';
}

/** Find files and symbols by a part of their name; an addition to the document. */
export interface FindNames {
  type: 'findNames';
  query: string;
  limit?: number;
}

/** Rank the code that is like a place, FILE:LINE; an addition to the document. */
export interface FindRelated {
  type: 'findRelated';
  place: string;
  limit?: number | null;
}

/** Stream every event after a position, as replies to this one request. */
export interface FollowAgentSessions {
  type: 'followAgentSessions';
  after?: PositionEntry | null;
}

/** Show the turn that runs in a conversation: everything so far, then what comes. */
export interface FollowConversation {
  type: 'followConversation';
  conversationId: number;
}

/** Begin the conversation `newId` with the first `turns` turns of another one. */
export interface ForkConversation {
  type: 'forkConversation';
  conversationId: number;
  newId: number;
  turns: number;
}

/** An element of `conversationSettings.generationModel`. */
export interface GenerationModelSettings {
  name: string;
  modelName: string;
  url: string;
  setApiKey?: boolean;
  inputPrice?: number | null;
  outputPrice?: number | null;
  contextTokens?: number | null;
}

/** Ask for this machine and its agents. */
export interface GetAgentMachine {
  type: 'getAgentMachine';
}

/** Read the log of permissions: what was asked, and who answered it where. */
export interface GetAgentPermissions {
  type: 'getAgentPermissions';
  id: string;
}

/** Read the state of one session. */
export interface GetAgentSession {
  type: 'getAgentSession';
  id: string;
}

/** List the sessions, the last used first. */
export interface GetAgentSessions {
  type: 'getAgentSessions';
}

/** Read a stored key. */
export interface GetApiKey {
  type: 'getApiKey';
  name: string;
}

/**
 * Ask what the chat models have used for the open repository. `allRepos`, an addition: and for each
 * of the others.
 */
export interface GetApiUsage {
  type: 'getApiUsage';
  allRepos?: boolean;
}

/** Ask which accelerators really work. */
export interface GetAvailableHardware {
  type: 'getAvailableHardware';
}

/**
 * Ask who calls a definition, and what it calls; an addition to the document. `symbol` is a name,
 * or one with those around it: Class.name.
 */
export interface GetCalls {
  type: 'getCalls';
  symbol: string;
}

/** List every chunk of the open repository. */
export interface GetChunksInfo {
  type: 'getChunksInfo';
}

/** Read one of them, as its history file has it; an addition to the document. */
export interface GetConversation {
  type: 'getConversation';
  conversationId: number;
}

/** List the conversations about the open repository; an addition to the document. */
export interface GetConversations {
  type: 'getConversations';
}

/** List the chat models; undocumented, but known to the document's own kernel. */
export interface GetGenerationModels {
  type: 'getGenerationModels';
}

/**
 * Follow the callers of a file, of lines, or of a name; an addition to the document. `place`: FILE,
 * FILE:LINE, FILE:FIRST-LAST, FILE:NAME, a name, or Class.name.
 */
export interface GetImpact {
  type: 'getImpact';
  place: string;
  depth?: number | null;
}

/** Ask what is indexed and skipped in a folder, '' for all; an addition to the document. */
export interface GetIndexMap {
  type: 'getIndexMap';
  folder?: string;
}

/** Ask how far the index of the open repository is; an addition to the document. */
export interface GetIndexStatus {
  type: 'getIndexStatus';
}

/** List the indexes of the userData folder. */
export interface GetIndexes {
  type: 'getIndexes';
}

/** Ask who is attached and what is open. */
export interface GetKernelStatus {
  type: 'getKernelStatus';
}

/**
 * Ask which commits made a file, lines of it, or a definition; an addition to the document. `place`
 * as of `getImpact`.
 */
export interface GetLineHistory {
  type: 'getLineHistory';
  place: string;
  limit?: number | null;
}

/** Ask for the providers that a chat model can be added from; an addition to the document. */
export interface GetModelPresets {
  type: 'getModelPresets';
}

/** List the models in the box and those of the settings; an addition to the document. */
export interface GetModels {
  type: 'getModels';
}

/** List what agents may do here without being asked, because somebody allowed it for good. */
export interface GetPermissionRules {
  type: 'getPermissionRules';
}

/** List the registered repositories. */
export interface GetRepos {
  type: 'getRepos';
}

/** List what is at work in all repositories; an addition to the document. */
export interface GetRunningTurns {
  type: 'getRunningTurns';
}

/** Ask for the settings in force; an addition to the document. */
export interface GetSettings {
  type: 'getSettings';
}

/** List files that are not indexed, with their reasons; an addition to the document. */
export interface GetSkippedFiles {
  type: 'getSkippedFiles';
  limit?: number;
}

/** `hub`, which is not in the front end's document: `codekernel hub`. */
export interface HubSection {
  port?: number;
  origins?: string[];
  tunnelUrl?: string;
}

/** `kernel`, which is not in the front end's document. */
export interface KernelSection {
  idleMinutes?: number;
  standalone?: boolean;
}

/** `lark`, which is not in the front end's document; the app's secret is in the vault. */
export interface LarkSection {
  enabled?: boolean;
  appId?: string;
  domain?: string;
  noticesOnly?: boolean;
}

/** Ask an endpoint for its chat models; `keyName` as in testApi. An addition. */
export interface ListEndpointModels {
  type: 'listEndpointModels';
  url: string;
  api?: string;
  keyName?: string | null;
}

/** List the folders in a folder; without a path, in the home folder. */
export interface ListFolders {
  type: 'listFolders';
  path?: string;
}

/** An element of `localModelManagement.models`: a folder, or a server instead. */
export interface LocalModelEntry {
  name: string;
  path: string;
  type: 'embedding' | 'rerank' | 'generation';
  fileSize?: number | null;
  endpoint?: RemoteModelEntry;
}

/** `localModelManagement`. */
export interface LocalModelSection {
  models: LocalModelEntry[];
}

/** Ask how long the model of an embedding config takes; an addition to the document. */
export interface MeasureEmbedding {
  type: 'measureEmbedding';
  config: string;
}

/**
 * Add a chat model beside those of the settings, in memory alone; an addition. A terminal offers
 * the one of its environment (OPENAI_API_KEY).
 */
export interface OfferModel {
  type: 'offerModel';
  name: string;
  modelName: string;
  url: string;
  apiKey?: string;
}

/**
 * Open the repository of a folder for a session; an unknown folder is registered first. Without
 * `keep` cleaning unregisters it again when it has been unused for long.
 */
export interface OpenFolder {
  type: 'openFolder';
  path: string;
  sessionId: number;
  keep?: boolean;
}

/** Open a repository for a window; `sessionPrepared` tells the window when it is usable. */
export interface OpenRepo {
  type: 'openRepo';
  repoName: string;
  sessionId: number;
}

/** Let the work on the index stand still, or go on; an addition to the document. */
export interface PauseIndexing {
  type: 'pauseIndexing';
  paused: boolean;
}

/** `performance`. */
export interface PerformanceSection {
  maxThreads: number;
  useCuda: boolean;
  useCoreML: boolean;
  pauseOnBattery?: boolean;
}

/** The last event that a client has. */
export interface PositionEntry {
  run: string;
  id: number;
}

/** Say what would be indexed of a folder, and what that takes. */
export interface PreviewFolder {
  type: 'previewFolder';
  path: string;
}

/** Read the newest messages, those before a number, or those after one. */
export interface ReadAgentMessages {
  type: 'readAgentMessages';
  id: string;
  beforeSeq?: number | null;
  afterSeq?: number | null;
  limit?: number;
  epoch?: number | null;
}

/** Show lines of a file: from `beginLine`, counted from 0, up to `endLine`, without it. */
export interface ReadLines {
  type: 'readLines';
  filePath: string;
  beginLine: number;
  endLine: number;
}

/** Register a folder under its name, or a free one; a registered one keeps its name. */
export interface RegisterFolder {
  type: 'registerFolder';
  path: string;
}

/** `endpoint` of a local model, which is not in the front end's document: a server. */
export interface RemoteModelEntry {
  url: string;
  modelName: string;
  setApiKey?: boolean;
  inputPrice?: number | null;
  queryPrefix?: string | null;
  documentPrefix?: string | null;
  batchSize?: number;
  concurrency?: number;
}

/** An element of `searchSettings.rerankConfig.configs`. */
export interface RerankConfigEntry {
  modelName: string;
  selected?: boolean;
}

/** `searchSettings.rerankConfig`. */
export interface RerankSection {
  configs: RerankConfigEntry[];
}

/** Rank the chunks of the open repository against a query; no limit means the settings' one. */
export interface Search {
  type: 'search';
  query: string;
  limit?: number | null;
  accuracy?: boolean;
  explain?: boolean;
  semantic?: boolean;
  configs?: string[] | null;
  facets?: boolean;
}

/**
 * Rank the chunks of several repositories together; an addition to the document. `repos` are names,
 * else all that are registered; `repo:` in the query narrows them.
 */
export interface SearchRepos {
  type: 'searchRepos';
  query: string;
  repos?: string[] | null;
  limit?: number | null;
  accuracy?: boolean;
  explain?: boolean;
  semantic?: boolean;
}

/** `searchSettings`. */
export interface SearchSection {
  searchLimit: number;
  embeddingConfig?: EmbeddingSection;
  rerankConfig?: RerankSection;
}

/** Queue a message for the agent; a second one with the same `localId` is the first. */
export interface SendAgentMessage {
  type: 'sendAgentMessage';
  id: string;
  text: string;
  actor: ActorEntry;
  localId?: string;
}

/** Store the key of a generation model under the model's name; an empty key forgets it. */
export interface SetApiKey {
  type: 'setApiKey';
  name: string;
  apiKey: string;
}

/** The whole file. */
export interface SettingsFile {
  searchSettings?: SearchSection;
  localModelManagement?: LocalModelSection;
  conversationSettings?: ConversationSection;
  performance?: PerformanceSection;
  kernel?: KernelSection;
  agents?: AgentCommandEntry[];
  hub?: HubSection;
  telegram?: TelegramSection;
  lark?: LarkSection;
  sharing?: SharingSection;
}

/** `sharing`, which is not in the front end's document; salt and keys are in the vault. */
export interface SharingSection {
  store?: string;
  mode?: 'read' | 'read-write';
  endpoint?: string;
  region?: string;
  base?: string;
  trustedKeys?: string[];
}

/** Start an agent in a folder, or find the session with this `tag`. */
export interface StartAgentSession {
  type: 'startAgentSession';
  folder: string;
  actor: ActorEntry;
  agent?: string;
  model?: string;
  name?: string;
  permissionMode?: string;
  tag?: string;
}

/** Stop what the agent does; messages that wait stay. */
export interface StopAgentTurn {
  type: 'stopAgentTurn';
  id: string;
  actor: ActorEntry;
}

/** Front end -> kernel: end everything in order, then exit with 0. */
export interface StopAll {
  type: 'stopAll';
}

/** End a running answer; what was shown is kept. */
export interface StopConversation {
  type: 'stopConversation';
  conversationId: number;
}

/** End the kernel for every client. */
export interface StopKernel {
  type: 'stopKernel';
}

/** `telegram`, which is not in the front end's document; the bot's token is in the vault. */
export interface TelegramSection {
  enabled?: boolean;
  apiBase?: string;
  noticesOnly?: boolean;
}

/**
 * Try a key, url and model name before they are saved; older clients say name and apiKey.
 * `keyName`, an addition: the key that is stored under this name, for pages that get no key.
 */
export interface TestApi {
  type: 'testApi';
  url: string;
  modelName?: string | null;
  api?: string | null;
  name?: string | null;
  apiKey?: string | null;
  keyName?: string | null;
}

/**
 * Learn how much each signal counts in the open repository; an addition to the document.
 * `questions` come newest first; none at all removes what was learned.
 */
export interface TuneRanking {
  type: 'tuneRanking';
  questions: TuningQuestion[];
}

/** A text, and the files that a search for it should find. */
export interface TuningQuestion {
  text: string;
  filePaths: string[];
}

/** Undo what an agent did to files in all turns of a session. */
export interface UndoAgentSession {
  type: 'undoAgentSession';
  session: string;
}

/** Undo what an agent did to files in one turn, which is known by its `time`. */
export interface UndoAgentTurn {
  type: 'undoAgentTurn';
  conversationId: number;
  time: number;
}

/** Change what is given. */
export interface UpdateAgentSession {
  type: 'updateAgentSession';
  id: string;
  name?: string | null;
  model?: string | null;
  permissionMode?: string | null;
  archived?: boolean | null;
}

/** Take settings.json as it is now, for every session. */
export interface UpdateSettings {
  type: 'updateSettings';
}

/** Send `reposChanged` to this client from now on. */
export interface WatchRepos {
  type: 'watchRepos';
}

/** What the history keeps of an agent's turn; `undone` if it was. */
export interface AgentEntry {
  session: string;
  firstChange: number;
  messages: AgentMessageEntry[];
  changes?: ChangeEntry[];
  undone?: UndoneEntry[];
}

/** An agent; `unavailable` says why no session can be started with it. */
export interface AgentKindEntry {
  name: string;
  title: string;
  own: boolean;
  models: string[];
  unavailable: string;
  canUndo: boolean;
}

/** An AgentMessage of document 004. */
export interface AgentMessageEntry {
  role: string;
  content: (TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock)[];
  meta?: MessageMeta;
}

/** A session; `permissions` are those of its last turn. */
export interface AgentSessionEntry {
  id: string;
  agent: string;
  machineId: string;
  folder: string;
  name: string;
  createdAt: number;
  updatedAt: number;
  version: number;
  epoch: number;
  lastSeq: number;
  active: boolean;
  thinking: boolean;
  archived: boolean;
  model: string;
  permissionMode: string;
  conversationId: number;
  queuedCount: number;
  plan: TaskEntry[];
  permissions: SessionPermissionEntry[];
}

/** As it is from now on, for this repository and this endpoint. */
export interface AllowEndpointReply {
  model: string;
  allowed: boolean;
}

/**
 * Tokens of one model, with both spellings of its name: the document's and the front end's. `cost`
 * and `days` are additions.
 */
export interface ApiUsageEntry {
  modelName: string;
  model_name: string;
  input_token: number;
  output_token: number;
  total_token: number;
  cost?: number;
  days: DayUsageEntry[];
}

/** `error` is a sentence if there is no answer; `content` is base64. */
export interface AskAgentFolderReply {
  error: string;
  stdout: string;
  stderr: string;
  exitCode: number;
  content: string;
  size: number;
  modifiedAt: number;
  entries: FolderEntryData[];
}

/** A caller or callee, and the lines of the calls, from 1, which are in the caller. */
export interface CallEntry {
  place: CodeDefinition;
  lines: number[];
  certainty: string;
}

/** One definition of the name; the numbers are what was left out of the lists. */
export interface CalledDefinition {
  place: CodeDefinition;
  callers: CallEntry[];
  callees: CallEntry[];
  moreCallers: number;
  moreCallees: number;
}

/** The `data` of a detailed turn: the model's answer uses these tools after the last one. */
export interface CallsPart {
  type: 'calls';
  content: ToolUseBlock[];
}

/** `cancelled`, or `invoked` if the agent has begun with it. */
export interface CancelAgentMessageReply {
  outcome: string;
}

/** What was done to a file: `changed`, `created`, `deleted`, or `folders` were made. */
export interface ChangeEntry {
  filePath: string;
  kind: string;
}

/** A folder; `isRepository` if it is the top of a git work tree. */
export interface ChoosableFolder {
  name: string;
  path: string;
  isRepository: boolean;
  isHidden: boolean;
}

/** A chunk as one embedding config has it. */
export interface ChunkInfo {
  chunkId: number;
  filePath: string;
  content: string;
  metadata: string;
  beginLine: number;
  endLine: number;
  embeddingName: string;
}

/** A place that the answer names: lines from 1, the last included, as the answer has them. */
export interface CitationEntry {
  text: string;
  filePath: string;
  begin: number;
  end: number;
  state: string;
  reason?: string;
  nowBegin?: number;
  nowEnd?: number;
}

/** What was deleted; `sharedVectorsBytes` of vectors that no other index has. */
export interface CleanIndexesReply {
  cleaned: CleanedIndex[];
  sharedVectorsBytes: number;
}

/** An index that was deleted, or would be, and why. */
export interface CleanedIndex {
  repoName: string;
  path: string;
  folder: string;
  sizeBytes: number;
  reason: string;
}

/** An attached client; `attachedAt` in ms. */
export interface ClientEntry {
  name: string;
  pid: number | null;
  attachedAt: number;
  repos: string[];
}

/** A definition, or code outside of all (kind `file`); lines from 1, the last included. */
export interface CodeDefinition {
  name: string;
  kind: string;
  filePath: string;
  firstLine: number;
  lastLine: number;
}

/** One selected embedding config. */
export interface ConfigStatusEntry {
  name: string;
  ready: boolean;
  chunks: number;
  waiting: number;
  chunksPerSecond: number | null;
  secondsLeft: number | null;
  trouble: string;
}

/**
 * A conversation as a list shows it; `time` is that of its last turn, in ms since 1970. `unsaved`:
 * turns of it wait for room on the disk; `damaged`: why not all can be read.
 */
export interface ConversationEntry {
  conversationId: number;
  topic: string;
  time: number;
  turns: number;
  unsaved?: boolean;
  damaged?: string;
}

/**
 * The `data` of each reply after the first; what follows `content` comes with `done`. `time` and
 * `changes` come with that of an agent. `unsaved` says why the turn is in memory alone, if it is;
 * it is written as soon as the disk takes it.
 */
export interface ConversationPart {
  type: string;
  content: string | ResultContent;
  outcome?: string;
  citations?: CitationEntry[];
  masked?: number;
  usage?: SpentEntry;
  time?: number;
  changes?: ChangeEntry[];
  unsaved?: string;
}

/** A file that cannot be read whole, and why. */
export interface DamagedFileEntry {
  file: string;
  reason: string;
}

/** Tokens of one model on one day, and their cost where the settings know the price. */
export interface DayUsageEntry {
  day: string;
  input_token: number;
  output_token: number;
  cost?: number;
}

/** Session -> window: how far the indexing of one file is. */
export interface EmbeddingStatus {
  type: 'embeddingStatus';
  filePath: string;
  status: string;
  progress: number;
}

/**
 * What would be sent of the repository to the endpoint of a remote model. `tokens` and `cost`,
 * which is null without a price, are estimates. A reranker is sent `chunks` with each accurate
 * search.
 */
export interface EndpointAskEntry {
  model: string;
  endpoint: string;
  chunks: number;
  sizeBytes: number;
  tokens: number;
  cost: number | null;
  eachSearch: boolean;
}

/** A chat model of an endpoint; what it does not say is null. Prices: per million tokens. */
export interface EndpointModelEntry {
  name: string;
  contextTokens: number | null;
  inputPrice: number | null;
  outputPrice: number | null;
}

/** One event; `id` is 0 for those that are never replayed. */
export interface EventPart {
  type: 'event';
  id: number;
  kind: string;
  sessionId: string;
  session: AgentSessionEntry | null;
  message: SessionMessageEntry | null;
  localIds: string[];
}

/** What some of the hits have in common, and how many. */
export interface FacetValue {
  value: string;
  count: number;
}

/** The servers that answered. */
export interface FindLocalServersReply {
  servers: LocalServerEntry[];
}

/** The best first. */
export interface FindNamesReply {
  files: FoundFileName[];
  symbols: FoundName[];
}

/** Best first, without the place itself. */
export interface FindRelatedReply {
  results: SearchResult[];
}

/** A file or folder; `path` is below the folder of the session. */
export interface FolderEntryData {
  name: string;
  path: string;
  type: string;
  size: number;
  modifiedAt: number;
}

/** The last `data`: the client reads too slowly, or the kernel ends; follow again. */
export interface FollowingEnded {
  type: 'done';
}

/** The first `data`; unless `resumed`, everything must be read anew. */
export interface FollowingPart {
  type: 'following';
  position: PositionEntry;
  resumed: boolean;
}

/** An indexed file. */
export interface FoundFileName {
  filePath: string;
}

/** A name that is defined in a file, and the line of the definition, from 0. */
export interface FoundName {
  name: string;
  filePath: string;
  line: number;
}

/** A mean difference of NDCG@10, and its interval of 95 %. */
export interface GainEntry {
  mean: number;
  low: number;
  high: number;
}

/** A chat model as a list shows it; but for the name, additions, if they are known. */
export interface GenerationModelEntry {
  name: string;
  modelName?: string;
  inputPrice?: number;
  outputPrice?: number;
  contextTokens?: number;
}

/** Oldest first. */
export interface GetAgentPermissionsReply {
  permissions: SessionPermissionEntry[];
}

/** All sessions. */
export interface GetAgentSessionsReply {
  sessions: AgentSessionEntry[];
}

/** The key. */
export interface GetApiKeyReply {
  apiKey: string;
}

/** One entry per model, by name; `repos`, if wanted, has all repositories. */
export interface GetApiUsageReply {
  apiUsage: ApiUsageEntry[];
  repos?: RepoUsageEntry[];
}

/** True only if a trial session ran there; the names are spelt as the document spells them. */
export interface GetAvailableHardwareReply {
  cudaAvailable: boolean;
  coreMLAvailable: boolean;
}

/** Definitions of one name are apart; `behind` files have not been read yet. */
export interface GetCallsReply {
  definitions: CalledDefinition[];
  more: number;
  behind: number;
}

/** Newest first; `damaged` are files of any repository, `running` those to follow. */
export interface GetConversationsReply {
  conversations: ConversationEntry[];
  running?: RunningEntry[];
  damaged?: DamagedFileEntry[];
}

/**
 * Every chat model of the settings, in their order. `historyLength` is how many characters of the
 * turns before are given to a model, 0 for all; `currency` is that of the prices.
 */
export interface GetGenerationModelsReply {
  modelList: GenerationModelEntry[];
  historyLength?: number;
  currency?: string;
}

/**
 * Callers nearest first, tests strongest first. `unseen` says what no call graph sees, so that
 * nothing is a promise.
 */
export interface GetImpactReply {
  changed: CodeDefinition[];
  callers: ReachedEntry[];
  tests: ReachedTest[];
  weakTests: number;
  depth: number;
  leftOut: number;
  behind: number;
  unseen: string;
}

/** The largest first. */
export interface GetIndexMapReply {
  folder: string;
  entries: IndexMapEntry[];
  languages: LanguageEntry[];
}

/** Counts of what is indexed, what waits, and what stands in the way. */
export interface GetIndexStatusReply {
  state: string;
  files: number;
  chunks: number;
  filesWaiting: number;
  refused: Record<string, number>;
  configs: ConfigStatusEntry[];
  watching: string;
  trouble: string;
  paused: boolean;
  notice: string;
  cause: string;
  asks?: EndpointAskEntry[];
}

/**
 * First those of repositories, in order of registration. `sharedVectorsBytes` is what the vectors
 * take that all indexes share.
 */
export interface GetIndexesReply {
  indexes: IndexEntry[];
  sharedVectorsBytes: number;
}

/** Newest first. `firstLine` is 0 for a whole file. */
export interface GetLineHistoryReply {
  filePath: string;
  firstLine: number;
  lastLine: number;
  commits: LineCommitEntry[];
  hasMore: boolean;
  uncommitted: number[];
  remarks: string[];
}

/** The presets, in the order to show them. */
export interface GetModelPresetsReply {
  presets: ModelPresetEntry[];
}

/** Those of the settings first. */
export interface GetModelsReply {
  models: ModelEntry[];
}

/** The rules of this repository, oldest first. */
export interface GetPermissionRulesReply {
  rules: PermissionRuleEntry[];
}

/** Every repository, in order of registration. */
export interface GetReposReply {
  repoList: RepoEntry[];
}

/** Those of repositories that are registered, oldest first. */
export interface GetRunningTurnsReply {
  turns: RunningTurnEntry[];
}

/**
 * The whole file, defaults filled in; `trouble` says why the one on the disk is not used.
 * `warnings` is what a person should know of it all the same.
 */
export interface GetSettingsReply {
  settings: SettingsFile;
  trouble: string;
  warnings: string[];
}

/** The first of them by path; `total` is how many there are. */
export interface GetSkippedFilesReply {
  skipped: SkippedFile[];
  total: number;
}

/** The whole file; `repoPath` is an addition. */
export interface HistoryFile {
  conversationId: number;
  topic: string;
  history: TurnEntry[];
  repoPath: string;
}

/**
 * An index on disk; `repoName` is empty if no repository is registered for it. `path` is empty if
 * it is unknown what the index is about, `gone` if that folder is gone; `usedAt` in ms; `openIn`
 * names clients.
 */
export interface IndexEntry {
  repoName: string;
  path: string;
  folder: string;
  files: number;
  chunks: number;
  sizeBytes: number;
  usedAt: number;
  gone: boolean;
  openIn: string[];
}

/** A file, or a folder with all below it; `language` is that of most bytes. */
export interface IndexMapEntry {
  name: string;
  isFolder: boolean;
  files: number;
  bytes: number;
  language: string;
  skipped: number;
}

/** The kernel a client is attached to. */
export interface KernelInfo {
  kernelVersion: string;
  protocolVersion: string;
  pid: number;
}

/** Kernel -> front end: the process ends now with a non-zero code; no reply is expected. */
export interface KernelServerCrashed {
  type: 'kernelServerCrashed';
  error: string;
}

/** The kernel, its clients and its open indexes; times in ms. */
export interface KernelStatus {
  kernelVersion: string;
  protocolVersion: string;
  pid: number;
  userData: string;
  startedAt: number;
  memoryBytes: number;
  clients: ClientEntry[];
  indexes: OpenIndexEntry[];
}

/**
 * Kernel -> client: the kernel ends on purpose; no reply is expected. `retired`: a newer one takes
 * over, and nothing that has no reply was begun.
 */
export interface KernelStopping {
  type: 'kernelStopping';
  reason: string;
  retired: boolean;
}

/** The indexed files of a language. */
export interface LanguageEntry {
  language: string;
  files: number;
  bytes: number;
}

/** The files of a language that would be indexed. */
export interface LanguageShare {
  language: string;
  files: number;
  bytes: number;
}

/** A commit; `lines` are those of today that come from it, from 1. */
export interface LineCommitEntry {
  id: string;
  date: string;
  author: string;
  subject: string;
  body: string;
  lines: number[];
}

/** The chat models by name. */
export interface ListEndpointModelsReply {
  models: EndpointModelEntry[];
}

/** By name; `parent` is empty at the top, `isComplete` false if there are too many. */
export interface ListFoldersReply {
  path: string;
  parent: string;
  folders: ChoosableFolder[];
  isComplete: boolean;
}

/** A server that answered; `preset` is the name of its preset. */
export interface LocalServerEntry {
  preset: string;
  url: string;
  models: EndpointModelEntry[];
}

/** The machine, the folders that it knows, and its agents. */
export interface MachineEntry {
  id: string;
  host: string;
  platform: string;
  version: string;
  folders: string[];
  agents: AgentKindEntry[];
  active: boolean;
  details: Record<string, unknown>;
}

/** Measured on some chunks of the open repository; 0 if it has none. */
export interface MeasureEmbeddingReply {
  secondsPerChunk: number;
}

/** A later message of the same id takes the place of an earlier one, until it is complete. */
export interface MessageMeta {
  id: string;
  complete: boolean;
}

/** The `data` of a reply to `beginAgentTurn`: something was said or done. */
export interface MessagePart {
  type: 'message';
  content: AgentMessageEntry;
}

/** A local model; `fileSize` is in MB, `trouble` a sentence if it cannot be used. */
export interface ModelEntry {
  name: string;
  type: 'embedding' | 'rerank' | 'generation';
  path: string;
  fileSize: number;
  builtIn: boolean;
  dimension: number | null;
  description: string;
  trouble: string;
}

/** A provider, or a server on this machine; `keyPage` is empty if it needs no key. */
export interface ModelPresetEntry {
  name: string;
  title: string;
  url: string;
  keyPage: string;
  local: boolean;
}

/** An open index; unless it is `inUse`, it stays open for a while for the next search. */
export interface OpenIndexEntry {
  repoName: string;
  path: string;
  files: number;
  chunks: number;
  state: string;
  inUse: boolean;
}

/** What was opened. */
export interface OpenRepoReply {
  repoName: string;
  path: string;
}

/** An answer that a foreign agent offers. */
export interface OptionEntry {
  id: string;
  name: string;
  kind: string;
}

/** As it is from now on, for all windows on the repository. */
export interface PauseIndexingReply {
  paused: boolean;
}

/** The `data` of a reply to `beginAgentTurn`: a permission was answered, on any device. */
export interface PermissionAnsweredPart {
  type: 'permissionAnswered';
  content: SettledEntry;
}

/**
 * A tool waits for a person; `danger` is `deletes` or `runs`, `writes` for an edit. `diff` is the
 * edit; `rule` is what `allowRule` would allow from now on.
 */
export interface PermissionEntry {
  toolUseId: string;
  tool: string;
  danger: string;
  input: Record<string, unknown>;
  diff?: string;
  rule?: string;
}

/** The `data` of a reply to `beginAgentTurn`: nothing goes on until it is answered. */
export interface PermissionPart {
  type: 'permission';
  content: PermissionEntry;
}

/** A rule: the command, or the folder in which files may be deleted. */
export interface PermissionRuleEntry {
  id: string;
  danger: string;
  rule: string;
}

/**
 * By names and sizes, without reading files. `skipped` counts files and whole folders by reason.
 * `isComplete` is false for a folder that is too large to look through in time: then there is more.
 * `seconds` and `indexBytes` are estimates for the default model.
 */
export interface PreviewFolderReply {
  path: string;
  files: number;
  bytes: number;
  languages: LanguageShare[];
  skipped: Record<string, number>;
  seconds: number;
  indexBytes: number;
  isComplete: boolean;
}

/** A definition that calls what changes, `distance` calls away. */
export interface ReachedEntry {
  name: string;
  kind: string;
  filePath: string;
  firstLine: number;
  lastLine: number;
  distance: number;
  certainty: string;
}

/**
 * A test; `distance` is 0 and `certainty` empty where no call is known. `reasons` say what else
 * speaks for it; `score` compares tests of one answer.
 */
export interface ReachedTest {
  name: string;
  kind: string;
  filePath: string;
  firstLine: number;
  lastLine: number;
  distance: number;
  certainty: string;
  score: number;
  reasons: string[];
}

/** In the order of their numbers; `reset` if `epoch` was not the present one. */
export interface ReadAgentMessagesReply {
  messages: SessionMessageEntry[];
  epoch: number;
  hasMore: boolean;
  reset: boolean;
}

/** The lines that are there; `lineCount` is that of the whole file. */
export interface ReadLinesReply {
  content: string;
  beginLine: number;
  endLine: number;
  lineCount: number;
  language: string;
}

/** Kernel -> front end: listening. */
export interface Ready {
  type: 'ready';
}

/** The repository of the folder. */
export interface RegisterFolderReply {
  repoName: string;
  path: string;
}

/** A repository as a list shows it. */
export interface RepoEntry {
  name: string;
  path: string;
}

/** A result and its repository; scores are comparable among repositories. */
export interface RepoSearchResult {
  content: string;
  highlightedContent: string;
  metadata: string;
  highlightedMetadata: string;
  beginLine: number;
  endLine: number;
  filePath: string;
  score: number;
  chunkId: number;
  symbol: string;
  language: string;
  freshness: string;
  why?: Record<string, number>;
  repoName?: string;
  repoPath?: string;
}

/** Tokens of one model for one repository. */
export interface RepoUsageEntry {
  repoName: string;
  modelName: string;
  input_token: number;
  output_token: number;
  cost?: number;
}

/** Kernel -> client: a repository was registered or deleted, by any client. */
export interface ReposChanged {
  type: 'reposChanged';
}

/** One excerpt, in a reply and in the history; the last two are additions. */
export interface ResultContent {
  content: string;
  metadata: string;
  beginLine: number;
  endLine: number;
  filePath: string;
  score?: number;
  chunkId?: number;
  highlightedContent?: string;
}

/** An element of `retrieval`. */
export interface RoundEntry {
  annotation: string;
  search: string[];
  result: ResultContent[];
}

/** The `data` of a detailed turn when the model is called. */
export interface RoundPart {
  type: 'round';
  content: number;
}

/** A conversation in which something is at work, and what was asked. */
export interface RunningEntry {
  conversationId: number;
  query: string;
  isAgent: boolean;
}

/** The same, with its repository. */
export interface RunningTurnEntry {
  conversationId: number;
  query: string;
  isAgent: boolean;
  repoName: string;
}

/** Of `total` hits, the commonest of each first; folders also count for those above them. */
export interface SearchFacets {
  total: number;
  languages: FacetValue[];
  folders: FacetValue[];
  kinds: FacetValue[];
  symbols: FacetValue[];
}

/** Best first. */
export interface SearchReply {
  results: SearchResult[];
  type: string;
  isComplete?: boolean;
  facets?: SearchFacets;
  gap?: string;
}

/** Best first, and how each repository was searched. */
export interface SearchReposReply {
  results: RepoSearchResult[];
  repos: SearchedRepo[];
  isComplete?: boolean;
}

/** One chunk that answers the query; after `score` come additions to the document. */
export interface SearchResult {
  content: string;
  highlightedContent: string;
  metadata: string;
  highlightedMetadata: string;
  beginLine: number;
  endLine: number;
  filePath: string;
  score: number;
  chunkId: number;
  symbol: string;
  language: string;
  freshness: string;
  why?: Record<string, number>;
}

/**
 * How the search of one repository went. `error` if it could not be searched; `gap` says what was
 * not searched of it.
 */
export interface SearchedRepo {
  repoName: string;
  path: string;
  hits: number;
  error: string;
  gap: string;
}

/** Session -> window: this session is gone, its id is free, and no reply is expected. */
export interface SessionCrashed {
  type: 'sessionCrashed';
  error: string;
}

/** `message` is an AgentMessage; `invokedAt` is null while it waits for the agent. */
export interface SessionMessageEntry {
  id: string;
  sessionId: string;
  seq: number;
  createdAt: number;
  message: Record<string, unknown>;
  actor: ActorEntry;
  localId: string;
  invokedAt: number | null;
}

/** The first `data` of a detailed turn; `unknownTools` were asked for. */
export interface SessionPart {
  type: 'session';
  content: string;
  unknownTools: string[];
}

/** `status`: pending, approved, denied or canceled. */
export interface SessionPermissionEntry {
  id: string;
  tool: string;
  arguments: Record<string, unknown>;
  createdAt: number;
  danger: string;
  options: OptionEntry[];
  status: string;
  optionId: string;
  forTurn: boolean;
  answeredAt: number | null;
  answeredBy: ActorEntry | null;
  toolUseId: string;
}

/** Session -> window: requests to this session are answered from now on. */
export interface SessionPrepared {
  type: 'sessionPrepared';
  repoName: string;
  path: string;
}

/** Sent only with warnings; an addition to the document, whose replies have no data. */
export interface SettingsReply {
  warnings: string[];
}

/** A tool that waits no longer; `device` and `name` of who answered, empty if nobody did. */
export interface SettledEntry {
  toolUseId: string;
  allowed: boolean;
  device: string;
  name: string;
}

/** A file that is not indexed, or with `/` at its end a whole folder, and why. */
export interface SkippedFile {
  filePath: string;
  reason: string;
  detail: string;
}

/** Tokens of one turn; `exact` if the provider counted them. */
export interface SpentEntry {
  input_token: number;
  output_token: number;
  exact: boolean;
}

/** A task of the agent's plan. */
export interface TaskEntry {
  text: string;
  status: string;
}

/** The first `data` of a reply to `followConversation`: what was asked, and of whom. */
export interface TaskPart {
  type: 'task';
  content: string;
  isAgent: boolean;
}

/** What is said. */
export interface TextBlock {
  type: 'text';
  text: string;
}

/** What the agent thinks to itself. */
export interface ThinkingBlock {
  type: 'thinking';
  thinking: string;
}

/** What a tool has for programs; an edit of a file has what documents 000 and 001 say. */
export interface ToolDataEntry {
  toolUseId: string;
  data: Record<string, unknown>;
}

/** The `data` of a detailed turn before the result of a tool that has some. */
export interface ToolDataPart {
  type: 'toolData';
  content: ToolDataEntry;
}

/** What came of it; `diff` and `denied` are additions to the document. */
export interface ToolResultBlock {
  type: 'tool_result';
  tool_use_id: string;
  content: string;
  is_error?: boolean;
  diff?: string;
  denied?: boolean;
}

/** A tool is being used, until a result of the same id comes. */
export interface ToolUseBlock {
  type: 'tool_use';
  id: string;
  name: string;
  input: Record<string, unknown>;
}

/**
 * Whether there are learned weights now, and what they gain on the questions set aside. `weights`
 * are factors of the defaults: those in force if `kept`, else those that did not hold.
 */
export interface TuneRankingReply {
  kept: boolean;
  weights: Record<string, number>;
  trained: number;
  setAside: number;
  before: number;
  trainingGain: GainEntry;
  gain: GainEntry;
}

/** An element of `history`; after `time` come additions to the document. */
export interface TurnEntry {
  query: string;
  retrieval: RoundEntry[];
  answer: string;
  time: number;
  modelName?: string;
  outcome?: string;
  error?: string;
  citations?: CitationEntry[];
  masked?: number;
  usage?: SpentEntry;
  summary?: string;
  agent?: AgentEntry;
  turnKey?: string;
}

/** One entry for each file that the turn had changed. */
export interface UndoAgentTurnReply {
  files: UndoneEntry[];
}

/** What became of a file: `restored`, `removed`, or `kept` for a reason. */
export interface UndoneEntry {
  filePath: string;
  state: string;
  reason?: string;
}

/** What the main process may ask the kernel. `data` is that of the reply. */
export interface MainRequests {
  getRunningTurns: { fields: Omit<GetRunningTurns, 'type'>; data: GetRunningTurnsReply };
  attach: { fields: Omit<Attach, 'type'>; data: KernelInfo };
  openFolder: { fields: Omit<OpenFolder, 'type'>; data: OpenRepoReply };
  getKernelStatus: { fields: Omit<GetKernelStatus, 'type'>; data: KernelStatus };
  stopKernel: { fields: Omit<StopKernel, 'type'>; data: undefined };
  stopAll: { fields: Omit<StopAll, 'type'>; data: undefined };
  getRepos: { fields: Omit<GetRepos, 'type'>; data: GetReposReply };
  watchRepos: { fields: Omit<WatchRepos, 'type'>; data: undefined };
  createRepo: { fields: Omit<CreateRepo, 'type'>; data: undefined };
  openRepo: { fields: Omit<OpenRepo, 'type'>; data: OpenRepoReply };
  closeRepo: { fields: Omit<CloseRepo, 'type'>; data: undefined };
  deleteRepo: { fields: Omit<DeleteRepo, 'type'>; data: undefined };
  setApiKey: { fields: Omit<SetApiKey, 'type'>; data: undefined };
  getApiKey: { fields: Omit<GetApiKey, 'type'>; data: GetApiKeyReply };
  getModelPresets: { fields: Omit<GetModelPresets, 'type'>; data: GetModelPresetsReply };
  offerModel: { fields: Omit<OfferModel, 'type'>; data: undefined };
  checkSettings: { fields: Omit<CheckSettings, 'type'>; data: SettingsReply };
  updateSettings: { fields: Omit<UpdateSettings, 'type'>; data: SettingsReply };
  getSettings: { fields: Omit<GetSettings, 'type'>; data: GetSettingsReply };
  getModels: { fields: Omit<GetModels, 'type'>; data: GetModelsReply };
  getAvailableHardware: {
    fields: Omit<GetAvailableHardware, 'type'>;
    data: GetAvailableHardwareReply;
  };
  getGenerationModels: {
    fields: Omit<GetGenerationModels, 'type'>;
    data: GetGenerationModelsReply;
  };
  searchRepos: { fields: Omit<SearchRepos, 'type'>; data: SearchReposReply };
  findLocalServers: { fields: Omit<FindLocalServers, 'type'>; data: FindLocalServersReply };
  listEndpointModels: { fields: Omit<ListEndpointModels, 'type'>; data: ListEndpointModelsReply };
  testApi: { fields: Omit<TestApi, 'type'>; data: undefined };
  listFolders: { fields: Omit<ListFolders, 'type'>; data: ListFoldersReply };
  previewFolder: { fields: Omit<PreviewFolder, 'type'>; data: PreviewFolderReply };
  getIndexes: { fields: Omit<GetIndexes, 'type'>; data: GetIndexesReply };
  cleanIndexes: { fields: Omit<CleanIndexes, 'type'>; data: CleanIndexesReply };
  registerFolder: { fields: Omit<RegisterFolder, 'type'>; data: RegisterFolderReply };
  answerAgentPermission: {
    fields: Omit<AnswerAgentPermission, 'type'>;
    data: SessionPermissionEntry;
  };
  askAgentFolder: { fields: Omit<AskAgentFolder, 'type'>; data: AskAgentFolderReply };
  cancelAgentMessage: { fields: Omit<CancelAgentMessage, 'type'>; data: CancelAgentMessageReply };
  deleteAgentSession: { fields: Omit<DeleteAgentSession, 'type'>; data: undefined };
  getAgentMachine: { fields: Omit<GetAgentMachine, 'type'>; data: MachineEntry };
  getAgentPermissions: {
    fields: Omit<GetAgentPermissions, 'type'>;
    data: GetAgentPermissionsReply;
  };
  getAgentSession: { fields: Omit<GetAgentSession, 'type'>; data: AgentSessionEntry };
  getAgentSessions: { fields: Omit<GetAgentSessions, 'type'>; data: GetAgentSessionsReply };
  readAgentMessages: { fields: Omit<ReadAgentMessages, 'type'>; data: ReadAgentMessagesReply };
  sendAgentMessage: { fields: Omit<SendAgentMessage, 'type'>; data: SessionMessageEntry };
  startAgentSession: { fields: Omit<StartAgentSession, 'type'>; data: AgentSessionEntry };
  stopAgentTurn: { fields: Omit<StopAgentTurn, 'type'>; data: undefined };
  updateAgentSession: { fields: Omit<UpdateAgentSession, 'type'>; data: AgentSessionEntry };
  followAgentSessions: {
    fields: Omit<FollowAgentSessions, 'type'>;
    data: FollowingPart | EventPart | FollowingEnded;
  };
}

/** What a window may ask its session. `data` is that of the reply. */
export interface SessionRequests {
  beginConversation: { fields: Omit<BeginConversation, 'type'>; data: ConversationPart };
  stopConversation: { fields: Omit<StopConversation, 'type'>; data: undefined };
  getConversations: { fields: Omit<GetConversations, 'type'>; data: GetConversationsReply };
  getConversation: { fields: Omit<GetConversation, 'type'>; data: HistoryFile };
  forkConversation: { fields: Omit<ForkConversation, 'type'>; data: undefined };
  deleteConversation: { fields: Omit<DeleteConversation, 'type'>; data: undefined };
  getApiUsage: { fields: Omit<GetApiUsage, 'type'>; data: GetApiUsageReply };
  beginAgentTurn: {
    fields: Omit<BeginAgentTurn, 'type'>;
    data: TaskPart | MessagePart | PermissionPart | PermissionAnsweredPart | SessionPart | RoundPart | CallsPart | ToolDataPart | ConversationPart;
  };
  followConversation: {
    fields: Omit<FollowConversation, 'type'>;
    data: TaskPart | MessagePart | PermissionPart | PermissionAnsweredPart | SessionPart | RoundPart | CallsPart | ToolDataPart | ConversationPart;
  };
  answerPermission: { fields: Omit<AnswerPermission, 'type'>; data: undefined };
  getPermissionRules: { fields: Omit<GetPermissionRules, 'type'>; data: GetPermissionRulesReply };
  deletePermissionRule: { fields: Omit<DeletePermissionRule, 'type'>; data: undefined };
  undoAgentTurn: { fields: Omit<UndoAgentTurn, 'type'>; data: UndoAgentTurnReply };
  undoAgentSession: { fields: Omit<UndoAgentSession, 'type'>; data: UndoAgentTurnReply };
  search: { fields: Omit<Search, 'type'>; data: SearchReply };
  findNames: { fields: Omit<FindNames, 'type'>; data: FindNamesReply };
  getIndexStatus: { fields: Omit<GetIndexStatus, 'type'>; data: GetIndexStatusReply };
  allowEndpoint: { fields: Omit<AllowEndpoint, 'type'>; data: AllowEndpointReply };
  pauseIndexing: { fields: Omit<PauseIndexing, 'type'>; data: PauseIndexingReply };
  getChunksInfo: { fields: Omit<GetChunksInfo, 'type'>; data: { chunkInfo: ChunkInfo[] } };
  getIndexMap: { fields: Omit<GetIndexMap, 'type'>; data: GetIndexMapReply };
  getSkippedFiles: { fields: Omit<GetSkippedFiles, 'type'>; data: GetSkippedFilesReply };
  measureEmbedding: { fields: Omit<MeasureEmbedding, 'type'>; data: MeasureEmbeddingReply };
  tuneRanking: { fields: Omit<TuneRanking, 'type'>; data: TuneRankingReply };
  readLines: { fields: Omit<ReadLines, 'type'>; data: ReadLinesReply };
  getCalls: { fields: Omit<GetCalls, 'type'>; data: GetCallsReply };
  findRelated: { fields: Omit<FindRelated, 'type'>; data: FindRelatedReply };
  getImpact: { fields: Omit<GetImpact, 'type'>; data: GetImpactReply };
  getLineHistory: { fields: Omit<GetLineHistory, 'type'>; data: GetLineHistoryReply };
}

/** What the kernel says of its own accord. */
export type KernelMessage =
  | EmbeddingStatus
  | KernelServerCrashed
  | KernelStopping
  | Ready
  | ReposChanged
  | SessionCrashed
  | SessionPrepared;
