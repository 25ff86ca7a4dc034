/**
 * Pairing: a code, good once, for the key of this device.
 *
 * The code comes in the fragment of the address, which no request and no log contains.
 */

import { HubFailure } from './hub_failure.js';
import { requestJson } from './hub_client.js';

/** @typedef {import('./device_key.js').Device} Device */

const FRAGMENT = /^#(?:pair|code)=([^&]+)$/;

/** What a device is called in the list of `codekernel hub devices`; the first that fits. */
const DEVICE_NAMES = /** @type {const} */ ([
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android.*Mobile/, 'Android phone'],
  [/Android/, 'Android tablet'],
  [/Windows/, 'Windows browser'],
  [/Macintosh/, 'Mac browser'],
  [/Linux/, 'Linux browser'],
]);

/**
 * @param {string} fragment of the address
 * @returns {string} the code, '' if there is none
 */
export function findCode(fragment) {
  const found = FRAGMENT.exec(fragment);
  try {
    return found ? decodeURIComponent(found[1]) : '';
  } catch {
    return '';
  }
}

/** @param {string} userAgent */
export function describeDevice(userAgent) {
  return DEVICE_NAMES.find(([pattern]) => pattern.test(userAgent))?.[1] ?? 'Browser';
}

/**
 * @param {string} code
 * @param {string} name
 * @returns {Promise<Device>}
 */
export async function pairDevice(code, name) {
  const answer = await requestJson('POST', '/api/pair', { body: { code, name } });
  const { accessToken, device } = answer;
  if (typeof accessToken !== 'string') throw new HubFailure('bad_answer', 'No key was given.');
  return { key: accessToken, id: String(device?.id ?? ''), name: String(device?.name ?? name) };
}
