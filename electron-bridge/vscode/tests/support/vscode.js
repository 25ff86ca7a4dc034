/** As much of VS Code as the extension uses, and what it was told. */

import { EventEmitter as Emitter, once } from 'node:events';

/** What the extension did, and what the test may set. */
export const seen = {
  commands: new Map(),
  executed: [],
  views: new Map(),
  shown: [],
  opened: [],
  providers: new Map(),
  settings: {},
  item: {},
  tree: {},
};

const disposable = { dispose() {} };
const listen = () => disposable;

export class EventEmitter {
  #events = new Emitter();
  event = (listener) => this.#events.on('fired', listener) && disposable;
  fire = (value) => this.#events.emit('fired', value);
}

export class Uri {
  constructor(fsPath, scheme = 'file') {
    Object.assign(this, { fsPath, scheme });
  }
  static file = (fsPath) => new Uri(fsPath);
  static parse = (text) => new Uri(text, 'https');
  static joinPath = (uri, ...names) => new Uri([uri.fsPath, ...names].join('/'));
  toString = () => `${this.scheme}://${this.fsPath}`;
}

export class TreeItem {
  constructor(label, collapsibleState) {
    Object.assign(this, { label, collapsibleState });
  }
}
export class ThemeIcon {}
export class ThemeColor {}
export class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}
export class Range {
  constructor(start, end) {
    Object.assign(this, { start, end });
  }
}
export class McpStdioServerDefinition {
  constructor(label, command, args) {
    Object.assign(this, { label, command, args });
  }
}
export const StatusBarAlignment = { Left: 1 };
export const TextEditorRevealType = { InCenterIfOutsideViewport: 2 };
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };

export const workspace = {
  workspaceFolders: [],
  getConfiguration: () => ({ get: (name, missing) => seen.settings[name] ?? missing }),
  getWorkspaceFolder: (uri) =>
    workspace.workspaceFolders.find((each) => uri.fsPath.startsWith(each.uri.fsPath)),
  openTextDocument: async (uri) => ({ uri, lineCount: 99, lineAt: () => ({ range: {} }) }),
  onDidChangeWorkspaceFolders: listen,
  onDidChangeConfiguration: listen,
};

export const window = {
  activeTextEditor: undefined,
  createStatusBarItem: () => Object.assign(seen.item, { show() {}, ...disposable }),
  createTreeView: (_id, { treeDataProvider }) =>
    Object.assign(seen.tree, { provider: treeDataProvider, ...disposable }),
  registerWebviewViewProvider: (id, provider) => seen.views.set(id, provider) && disposable,
  onDidChangeActiveTextEditor: listen,
  showTextDocument: async ({ uri }, options) => {
    seen.opened.push({ file: uri.fsPath, ...options });
    return { revealRange() {} };
  },
  showErrorMessage: async (text) => void seen.shown.push(text),
  showWarningMessage: async (text) => void seen.shown.push(text),
  showInformationMessage: async (text) => void seen.shown.push(text),
};

export const commands = {
  registerCommand: (name, run) => seen.commands.set(name, run) && disposable,
  executeCommand: async (name) => void seen.executed.push(name),
};

export const lm = {
  registerMcpServerDefinitionProvider: (id, provider) =>
    seen.providers.set(id, provider) && disposable,
};

export const env = { openExternal: async () => true };

/** The page of a view: what it is sent, and a way to say something to the extension. */
export function openView(provider) {
  const events = new Emitter();
  const posted = [];
  const webview = {
    cspSource: 'vscode-resource:',
    asWebviewUri: (uri) => uri,
    onDidReceiveMessage: (listener) => events.on('said', listener),
    postMessage: (message) => {
      posted.push(message);
      events.emit('posted', message);
    },
  };
  provider.resolveWebviewView({ webview, onDidDispose() {} });
  const next = async (type, isWanted = () => true) => {
    const fits = (message) => message.type === type && isWanted(message);
    for (;;) {
      const found = posted.find(fits);
      if (found) return found;
      await once(events, 'posted');
    }
  };
  return { webview, next, say: (message) => events.emit('said', message) };
}
