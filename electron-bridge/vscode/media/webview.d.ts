/** What VS Code gives to the pages of its views. */

declare function acquireVsCodeApi(): {
  postMessage(message: object): void;
  getState(): any;
  setState(state: object): void;
};
