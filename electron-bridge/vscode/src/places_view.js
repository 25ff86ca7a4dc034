/** The view "Callers and Related Code": a tree that asks for the next calls when it is opened. */

import path from 'node:path';

import * as vscode from 'vscode';

/** @typedef {import('../../types/protocol.d.ts').CallEntry} CallEntry */
/** @typedef {import('../../types/protocol.d.ts').CalledDefinition} CalledDefinition */
/** @typedef {import('../../types/protocol.d.ts').CodeDefinition} CodeDefinition */
/** @typedef {import('./kernel_link.js').KernelLink} KernelLink */
/** @typedef {import('./kernel_link.js').FoundPlace} FoundPlace */
/** @typedef {'callers' | 'callees'} Direction */

/**
 * @typedef {object} PlaceNode
 * @property {string} label
 * @property {string} detail
 * @property {string} icon
 * @property {import('./editor_places.js').CodePlace} place
 * @property {(() => Promise<PlaceNode[]>) | null} children null if it can have none
 * @property {boolean} [isOpen]
 */

/** @implements {vscode.TreeDataProvider<PlaceNode>} */
export class PlacesView {
  static id = 'codekernel.placesView';
  #changed = new vscode.EventEmitter();
  onDidChangeTreeData = this.#changed.event;
  /** @type {PlaceNode[]} */
  #roots = [];

  /** @param {KernelLink} link */
  constructor(link) {
    this.link = link;
    this.tree = vscode.window.createTreeView(PlacesView.id, { treeDataProvider: this });
  }

  /** @param {PlaceNode} node */
  getTreeItem({ label, detail, icon, place, children, isOpen }) {
    const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(label, children ? (isOpen ? Expanded : Collapsed) : None);
    item.description = `${detail} ${place.filePath}:${place.beginLine + 1}`.trim();
    item.tooltip = item.description;
    item.iconPath = new vscode.ThemeIcon(icon);
    item.command = { command: 'codekernel.openPlace', title: 'Open', arguments: [place] };
    return item;
  }

  /** @param {PlaceNode} [node] */
  async getChildren(node) {
    return node ? ((await node.children?.()) ?? []) : this.#roots;
  }

  clear() {
    this.#show([], '');
  }

  /**
   * Show what is like a place.
   *
   * @param {{ folder: string, filePath: string, line: number }} at
   */
  async showRelated({ folder, filePath, line }) {
    const session = await this.link.open(folder);
    const { results } = await session.request('findRelated', {
      place: `${filePath}:${line + 1}`,
      limit: 20,
    });
    const nodes = results.map((result) => relatedNode({ ...result, folder: session.path }));
    const from = `${path.posix.basename(filePath)}:${line + 1}`;
    this.#show(nodes, nodes.length ? `Like ${from}` : `Nothing is like ${from}.`);
  }

  /**
   * Show who calls a name, or what it calls.
   *
   * @param {{ folder: string, filePath: string, symbol: string }} at
   * @param {Direction} direction
   */
  async showCalls({ folder, filePath, symbol }, direction) {
    const session = await this.link.open(folder);
    const { definitions, behind } = await session.request('getCalls', { symbol });
    const isHere = (/** @type {CalledDefinition} */ one) => one.place.filePath === filePath;
    const sorted = [...definitions].sort((a, b) => Number(isHere(b)) - Number(isHere(a)));
    const nodes = sorted.map((one) => this.#definitionNode(folder, session.path, one, direction));
    const title = direction === 'callers' ? `Who calls ${symbol}` : `What ${symbol} calls`;
    const missing = behind ? ` (${behind} files are still being read: ask again)` : '';
    const none = `There is no definition of ${symbol} in the index.`;
    this.#show(nodes, `${nodes.length ? title : none}${missing}`);
  }

  /**
   * @param {PlaceNode[]} roots
   * @param {string} message
   */
  #show(roots, message) {
    this.#roots = roots;
    this.tree.message = message || undefined;
    this.#changed.fire(undefined);
    if (message) vscode.commands.executeCommand(`${PlacesView.id}.focus`);
  }

  /**
   * @param {string} folder
   * @param {string} root
   * @param {CalledDefinition} definition
   * @param {Direction} direction
   * @returns {PlaceNode}
   */
  #definitionNode(folder, root, definition, direction) {
    const entries = definition[direction];
    const children = entries.map((entry) => this.#callNode(folder, root, entry, direction));
    const more = direction === 'callers' ? definition.moreCallers : definition.moreCallees;
    const detail = `${entries.length + more} ${direction}`;
    return {
      label: definition.place.name,
      detail,
      icon: 'symbol-method',
      place: toPlace(root, definition.place),
      children: children.length ? async () => children : null,
      isOpen: true,
    };
  }

  /**
   * @param {string} folder
   * @param {string} root
   * @param {CallEntry} entry
   * @param {Direction} direction
   * @returns {PlaceNode}
   */
  #callNode(folder, root, { place, lines, certainty }, direction) {
    const isOutside = place.kind === 'file';
    // The lines of a call are in the caller.
    const line = direction === 'callers' ? lines[0] : place.firstLine;
    const follow = async () => {
      const session = await this.link.open(folder);
      const { definitions } = await session.request('getCalls', { symbol: place.name });
      const same = definitions.find((one) => isSame(one.place, place));
      return (same?.[direction] ?? []).map((next) => this.#callNode(folder, root, next, direction));
    };
    return {
      label: isOutside ? path.posix.basename(place.filePath) : place.name,
      detail: certainty === 'certain' ? '' : certainty,
      icon: direction === 'callers' ? 'call-incoming' : 'call-outgoing',
      place: toPlace(root, { filePath: place.filePath, firstLine: line, lastLine: line }),
      children: isOutside ? null : follow,
    };
  }
}

/**
 * @param {FoundPlace} found
 * @returns {PlaceNode}
 */
function relatedNode({ folder, filePath, beginLine, endLine, symbol, score }) {
  return {
    label: symbol || path.posix.basename(filePath),
    detail: `${Math.round(100 * score)} %`,
    icon: 'references',
    place: { folder, filePath, beginLine, endLine },
    children: null,
  };
}

/**
 * An editor counts lines from 0, and ends before the last.
 *
 * @param {string} folder
 * @param {Pick<CodeDefinition, 'filePath' | 'firstLine' | 'lastLine'>} definition
 */
function toPlace(folder, { filePath, firstLine, lastLine }) {
  return { folder, filePath, beginLine: firstLine - 1, endLine: lastLine };
}

/**
 * @param {CodeDefinition} one
 * @param {CodeDefinition} other
 */
function isSame(one, other) {
  return one.filePath === other.filePath && one.firstLine === other.firstLine;
}
