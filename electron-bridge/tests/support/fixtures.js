/** What tests share: a userData folder, a bridge to the fake kernel, waiting for events. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { KernelBridge } from '../../src/index.js';

const FAKE = fileURLToPath(new URL('fake_kernel.js', import.meta.url));
export const FAST_RESTART = { delaysMs: [1], stableAfterMs: 3_600_000 };

/** Things a test waits for come within this, or it fails; nothing is asserted about time. */
export const TIMEOUT_MS = 30_000;

/** A folder that is removed after the test, once `close` has ended what still writes to it. */
export async function temporaryFolder(t, close = async () => {}) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'bridge-'));
  t.after(async () => {
    await close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

/** A bridge whose kernel is the fake one, started unless told otherwise. */
export async function fakeBridge(t, { mode = '', start = true, ...options } = {}) {
  const userData = await temporaryFolder(t, () => bridge.stop());
  const command = [process.execPath, FAKE, mode];
  const bridge = new KernelBridge({ userData, command, restarts: FAST_RESTART, ...options });
  if (start) await bridge.start();
  return bridge;
}

/** The arguments of the next event of this name. */
export function next(emitter, name) {
  return once(emitter, name, { signal: AbortSignal.timeout(TIMEOUT_MS) });
}

/** Resolves when the bridge is in this state. */
export async function waitForState(bridge, state) {
  while (bridge.state !== state) await next(bridge, 'state');
}

export async function readLog(bridge) {
  await bridge.log.flush();
  return readFile(bridge.log.file, 'utf8');
}

export async function collect(iterable) {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
}
