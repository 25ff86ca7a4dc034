/** Our MCP server for agents of this editor, which need no config file then. */

import * as vscode from 'vscode';

import { listFolders } from './editor_places.js';

/**
 * @param {() => string[] | null} locate
 * @param {string} version
 * @returns {vscode.Disposable}
 */
export function offerMcpServers(locate, version) {
  return vscode.lm.registerMcpServerDefinitionProvider('codekernel', {
    provideMcpServerDefinitions() {
      const [program, ...words] = locate() ?? [];
      if (!program) return [];
      const folders = listFolders();
      return folders.map((folder) => {
        const name = folders.length > 1 ? `codekernel: ${folder}` : 'codekernel';
        const args = [...words, 'mcp', '--repo', folder];
        return new vscode.McpStdioServerDefinition(name, program, args, {}, version);
      });
    },
  });
}
