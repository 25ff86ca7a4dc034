/** Electron's own types are not installed where types are checked; its parts are any. */

declare module 'electron';

declare namespace NodeJS {
  interface Process {
    readonly resourcesPath: string;
  }
}
