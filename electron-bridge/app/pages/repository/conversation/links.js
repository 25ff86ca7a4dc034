/** Which links of an answer may be followed. Pure. */

/**
 * Only https, and shown with the host, so that a link cannot lead elsewhere than its text says.
 *
 * @param {string} href
 * @returns {{ href: string, host: string } | null}
 */
export function safeLink(href) {
  if (!URL.canParse(href)) return null;
  const url = new URL(href);
  if (url.protocol !== 'https:' || url.username || url.password) return null;
  return { href: url.href, host: url.host };
}
