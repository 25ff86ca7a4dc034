/** The frame around every message, as PROTOCOL.md has it: building it, reading it. */

import { KernelError, Reason, SUCCESS } from './errors.js';

export const MAIN_SESSION_ID = -1;
export const NO_CALLBACK = -1;

/** The kernel throws longer lines away. */
export const MAX_REQUEST_BYTES = 16 * 1024 * 1024;

const ACKNOWLEDGED_TYPES = new Set(['ready', 'sessionPrepared', 'embeddingStatus']);
const UNACKNOWLEDGED_TYPES = new Set(['sessionCrashed', 'kernelServerCrashed']);

/**
 * @typedef {{
 *   sessionId: number,
 *   toMain: boolean,
 *   callbackId: number,
 *   isReply: boolean,
 *   message: { type: string, [field: string]: any },
 *   status?: { code: string, message: string },
 *   data?: any,
 * }} Envelope
 */

/**
 * The line that asks for something, without its newline.
 *
 * @param {number} sessionId
 * @param {number} callbackId
 * @param {string} type
 * @param {object} fields
 */
export function encodeRequest(sessionId, callbackId, type, fields) {
  const line = JSON.stringify({
    sessionId,
    toMain: sessionId === MAIN_SESSION_ID,
    callbackId,
    isReply: false,
    message: { ...fields, type },
  });
  if (Buffer.byteLength(line) > MAX_REQUEST_BYTES) {
    throw new KernelError(Reason.TOO_LARGE, `${type} has more than 16 MiB; the kernel takes less.`);
  }
  return line;
}

/**
 * The line that answers a request of the kernel; null where the protocol wants none.
 *
 * @param {Envelope} request
 * @param {boolean} isAddressKnown whether the session it is meant for exists here
 */
export function encodeReply(request, isAddressKnown) {
  const { sessionId, toMain, callbackId, message } = request;
  if (callbackId === NO_CALLBACK || UNACKNOWLEDGED_TYPES.has(message.type)) return null;
  const status = statusFor(message.type, isAddressKnown);
  return JSON.stringify({ sessionId, toMain, callbackId, isReply: true, message, status });
}

/**
 * The envelope in a line; null if the line is none.
 *
 * @param {string} line
 * @returns {Envelope | null}
 */
export function parseEnvelope(line) {
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const isEnvelope =
    value !== null &&
    typeof value === 'object' &&
    Number.isInteger(value.sessionId) &&
    typeof value.toMain === 'boolean' &&
    Number.isInteger(value.callbackId) &&
    typeof value.isReply === 'boolean' &&
    typeof value.message?.type === 'string';
  return isEnvelope ? value : null;
}

/**
 * The callbackId of a reply of which only the beginning was kept; null if it was no reply.
 *
 * @param {string} head
 */
export function parseCallbackId(head) {
  const found = /"callbackId":(-?\d+),"isReply":true/.exec(head);
  return found ? Number(found[1]) : null;
}

/**
 * @param {string} type
 * @param {boolean} isAddressKnown
 */
function statusFor(type, isAddressKnown) {
  if (!ACKNOWLEDGED_TYPES.has(type)) {
    return { code: 'INVALID_TYPE', message: `This front end does not know ${type}.` };
  }
  if (!isAddressKnown) {
    return { code: 'SESSION_NOT_FOUND', message: 'No window has this session.' };
  }
  return { code: SUCCESS, message: '' };
}
