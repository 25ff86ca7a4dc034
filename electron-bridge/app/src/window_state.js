/** Where each window was, and how large, the last time: kept in one file of userData. */

import { readFileSync } from 'node:fs';

import { writeAtomically } from './atomic_file.js';

/** So much of the top of a window must be on a screen for the user to drag it. */
const MIN_VISIBLE_PIXELS = { width: 120, height: 32 };
/** A window that is dragged sends an event at every step. */
const SAVE_DELAY_MS = 500;
/** Repositories come and go; the oldest windows are forgotten. */
const MAX_WINDOWS = 50;
/** Beside the names of the windows. */
const OPEN = 'open';

/**
 * @typedef {{ x: number, y: number, width: number, height: number }} Area
 * @typedef {{ bounds: Area, maximized: boolean }} Place
 */

export class WindowState {
  /** @type {Map<string, Place>} the latest last */
  #places;
  /** The addresses of the windows that are open, or were at the last end. @type {string[]} */
  #addresses;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isDirty = false;
  /** @type {Promise<void>} */
  #writing = Promise.resolve();

  /** @param {string} file */
  constructor(file) {
    this.file = file;
    const { [OPEN]: addresses, ...places } = read(file);
    this.#places = new Map(Object.entries(places).filter(([, place]) => isPlace(place)));
    this.#addresses = Array.isArray(addresses)
      ? addresses.filter((each) => typeof each === 'string').slice(0, MAX_WINDOWS)
      : [];
  }

  openAddresses() {
    return this.#addresses;
  }

  /** @param {string[]} addresses of the windows that are open now */
  noteOpen(addresses) {
    if (String(addresses) === String(this.#addresses)) return;
    this.#addresses = addresses;
    this.#saveSoon();
  }

  /**
   * Where a window goes: where it was, if that is still on a screen.
   *
   * @param {string} name
   * @param {Area[]} screens
   * @param {{ width: number, height: number }} otherwise
   * @returns {{ width: number, height: number, x?: number, y?: number, maximized: boolean }}
   */
  place(name, screens, otherwise) {
    const place = this.#places.get(name);
    if (!place) return { ...otherwise, maximized: false };
    const { bounds, maximized } = place;
    const { width, height } = bounds;
    return screens.some((screen) => isReachable(bounds, screen))
      ? { ...bounds, maximized }
      : { ...smaller({ width, height }, screens[0]), maximized };
  }

  /**
   * Remember a window for as long as it is open.
   *
   * @param {string} name
   * @param {any} window
   */
  follow(name, window) {
    const note = () => {
      if (window.isDestroyed() || window.isMinimized() || window.isFullScreen()) return;
      this.remember(name, { bounds: window.getNormalBounds(), maximized: window.isMaximized() });
    };
    for (const change of ['resize', 'move', 'maximize', 'unmaximize', 'close'])
      window.on(change, note);
  }

  /**
   * @param {string} name
   * @param {Place} place
   */
  remember(name, place) {
    this.#places.delete(name);
    this.#places.set(name, place);
    this.#saveSoon();
  }

  #saveSoon() {
    this.#isDirty = true;
    this.#timer ??= setTimeout(() => this.save(), SAVE_DELAY_MS);
  }

  /** Resolves when what is known now is in the file; a disk that refuses costs a place, no more. */
  async save() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isDirty) {
      this.#isDirty = false;
      const kept = Object.fromEntries([...this.#places].slice(-MAX_WINDOWS));
      const open = this.#addresses.length > 0 ? { [OPEN]: this.#addresses } : {};
      const text = `${JSON.stringify({ ...open, ...kept }, null, 2)}\n`;
      this.#writing = this.#writing.then(() => writeAtomically(this.file, text)).catch(() => {});
    }
    await this.#writing;
  }
}

/**
 * @param {string} file
 * @returns {Record<string, any>}
 */
function read(file) {
  try {
    const places = JSON.parse(readFileSync(file, 'utf8'));
    return places !== null && typeof places === 'object' ? places : {};
  } catch {
    return {}; // the first start, or a damaged file
  }
}

/** @param {any} place */
function isPlace(place) {
  const { x, y, width, height } = place?.bounds ?? {};
  return [x, y, width, height].every(Number.isFinite) && typeof place.maximized === 'boolean';
}

/**
 * @param {Area} bounds
 * @param {Area} screen
 */
function isReachable(bounds, screen) {
  const right = Math.min(bounds.x + bounds.width, screen.x + screen.width);
  const isWide = right - Math.max(bounds.x, screen.x) >= MIN_VISIBLE_PIXELS.width;
  const lowest = screen.y + screen.height - MIN_VISIBLE_PIXELS.height;
  return isWide && bounds.y >= screen.y && bounds.y <= lowest;
}

/**
 * @param {{ width: number, height: number }} size
 * @param {Area | undefined} screen
 */
function smaller({ width, height }, screen) {
  if (!screen) return { width, height };
  return { width: Math.min(width, screen.width), height: Math.min(height, screen.height) };
}
