/** The key by which the hub knows this device, in the storage of the hub's origin. */

import { readPreference, savePreference } from '../../common/preferences.js';

const NAME = 'hub.device';

/** @typedef {{ key: string, id: string, name: string }} Device */

/** @returns {Device | null} null if this device is not paired */
export function readDevice() {
  try {
    const { key, id, name } = JSON.parse(readPreference(NAME) ?? 'null') ?? {};
    return typeof key === 'string' && key ? { key, id: String(id), name: String(name) } : null;
  } catch {
    return null;
  }
}

/** @param {Device} device */
export function saveDevice(device) {
  savePreference(NAME, JSON.stringify(device));
}

export function forgetDevice() {
  savePreference(NAME, '');
}
