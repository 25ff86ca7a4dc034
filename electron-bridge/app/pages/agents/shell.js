/** The worker that keeps the page's own files, so that the page opens without the hub. */

const WORKER = 'agents_worker.js';

/** Begin to keep the files that this page has loaded. Without TLS a browser has no such worker. */
export async function keepShell() {
  if (!('serviceWorker' in navigator)) return;
  try {
    await navigator.serviceWorker.register(WORKER);
    const { active } = await navigator.serviceWorker.ready;
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
    const links = document.querySelectorAll('link'); // icons and manifest are in no such list
    const named = Array.from(links, ({ href }) => href);
    const page = location.origin + location.pathname;
    active?.postMessage({ type: 'keep', addresses: [page, ...named, ...loaded] });
  } catch (failure) {
    console.warn('The page cannot be kept for later:', failure);
  }
}

/** @param {(sessionId: string) => void} open a notice was tapped */
export function onNoticeTapped(open) {
  navigator.serviceWorker?.addEventListener('message', ({ data }) => {
    if (data?.type === 'open-session') open(String(data.sessionId));
  });
}
