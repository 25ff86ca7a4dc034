/** Made by scripts/make_bridge_types.py from kernel/codekernel/adapters/web/page_api.py. Do not edit. */

import type { MainRequests, SessionRequests } from './protocol.js';

/** The calls of `window.kernel` that are requests to the kernel, as they are. */
export interface ForwardedCalls {
  getRepos(): Promise<MainRequests['getRepos']['data']>;
  createRepo(
    fields: MainRequests['createRepo']['fields'],
  ): Promise<MainRequests['createRepo']['data']>;
  registerFolder(
    fields: MainRequests['registerFolder']['fields'],
  ): Promise<MainRequests['registerFolder']['data']>;
  deleteRepo(
    fields: MainRequests['deleteRepo']['fields'],
  ): Promise<MainRequests['deleteRepo']['data']>;
  listFolders(
    fields: MainRequests['listFolders']['fields'],
  ): Promise<MainRequests['listFolders']['data']>;
  previewFolder(
    fields: MainRequests['previewFolder']['fields'],
  ): Promise<MainRequests['previewFolder']['data']>;
  getSettings(): Promise<MainRequests['getSettings']['data']>;
  checkSettings(): Promise<MainRequests['checkSettings']['data']>;
  updateSettings(): Promise<MainRequests['updateSettings']['data']>;
  getModels(): Promise<MainRequests['getModels']['data']>;
  getAvailableHardware(): Promise<MainRequests['getAvailableHardware']['data']>;
  setApiKey(
    fields: MainRequests['setApiKey']['fields'],
  ): Promise<MainRequests['setApiKey']['data']>;
  testApi(fields: MainRequests['testApi']['fields']): Promise<MainRequests['testApi']['data']>;
  getModelPresets(): Promise<MainRequests['getModelPresets']['data']>;
  listEndpointModels(
    fields: MainRequests['listEndpointModels']['fields'],
  ): Promise<MainRequests['listEndpointModels']['data']>;
  findLocalServers(): Promise<MainRequests['findLocalServers']['data']>;
  getGenerationModels(): Promise<MainRequests['getGenerationModels']['data']>;
  getIndexes(): Promise<MainRequests['getIndexes']['data']>;
  getKernelStatus(): Promise<MainRequests['getKernelStatus']['data']>;
  getRunningTurns(): Promise<MainRequests['getRunningTurns']['data']>;
  searchRepos(
    fields: MainRequests['searchRepos']['fields'],
  ): Promise<MainRequests['searchRepos']['data']>;
  search(fields: SessionRequests['search']['fields']): Promise<SessionRequests['search']['data']>;
  findNames(
    fields: SessionRequests['findNames']['fields'],
  ): Promise<SessionRequests['findNames']['data']>;
  getCalls(
    fields: SessionRequests['getCalls']['fields'],
  ): Promise<SessionRequests['getCalls']['data']>;
  getImpact(
    fields: SessionRequests['getImpact']['fields'],
  ): Promise<SessionRequests['getImpact']['data']>;
  getLineHistory(
    fields: SessionRequests['getLineHistory']['fields'],
  ): Promise<SessionRequests['getLineHistory']['data']>;
  getChunksInfo(): Promise<SessionRequests['getChunksInfo']['data']>;
  getIndexStatus(): Promise<SessionRequests['getIndexStatus']['data']>;
  allowEndpoint(
    fields: SessionRequests['allowEndpoint']['fields'],
  ): Promise<SessionRequests['allowEndpoint']['data']>;
  getIndexMap(
    fields: SessionRequests['getIndexMap']['fields'],
  ): Promise<SessionRequests['getIndexMap']['data']>;
  pauseIndexing(
    fields: SessionRequests['pauseIndexing']['fields'],
  ): Promise<SessionRequests['pauseIndexing']['data']>;
  getSkippedFiles(
    fields: SessionRequests['getSkippedFiles']['fields'],
  ): Promise<SessionRequests['getSkippedFiles']['data']>;
  readLines(
    fields: SessionRequests['readLines']['fields'],
  ): Promise<SessionRequests['readLines']['data']>;
  getApiUsage(
    fields: SessionRequests['getApiUsage']['fields'],
  ): Promise<SessionRequests['getApiUsage']['data']>;
  getConversations(): Promise<SessionRequests['getConversations']['data']>;
  getConversation(
    fields: SessionRequests['getConversation']['fields'],
  ): Promise<SessionRequests['getConversation']['data']>;
  deleteConversation(
    fields: SessionRequests['deleteConversation']['fields'],
  ): Promise<SessionRequests['deleteConversation']['data']>;
  answerPermission(
    fields: SessionRequests['answerPermission']['fields'],
  ): Promise<SessionRequests['answerPermission']['data']>;
  undoAgentTurn(
    fields: SessionRequests['undoAgentTurn']['fields'],
  ): Promise<SessionRequests['undoAgentTurn']['data']>;
  getPermissionRules(): Promise<SessionRequests['getPermissionRules']['data']>;
  deletePermissionRule(
    fields: SessionRequests['deletePermissionRule']['fields'],
  ): Promise<SessionRequests['deletePermissionRule']['data']>;
  forkConversation(
    fields: SessionRequests['forkConversation']['fields'],
  ): Promise<SessionRequests['forkConversation']['data']>;
}

/** The calls of `window.kernel.host`. */
export type HostCall =
  | 'hostInfo'
  | 'chooseFolder'
  | 'saveSettings'
  | 'openInEditor'
  | 'openWindow'
  | 'copyText'
  | 'showProgress'
  | 'restartKernel';
