/** Chromium without a network: switches off what it fetches, reports or looks up by itself. */

/**
 * Switches of Chromium's command line, by name. The pages come from a scheme of our own and the
 * kernel speaks through a pipe, so that no host name need ever be resolved: the first line alone
 * stops dictionaries, component updates, reports and whatever a later Chromium thinks of. The others
 * keep it from trying.
 *
 * @type {Readonly<Record<string, string>>}
 */
export const OFFLINE_SWITCHES = Object.freeze({
  'host-resolver-rules': 'MAP * ~NOTFOUND',
  'no-proxy-server': '', // else it may look for one called wpad
  'disable-background-networking': '',
  'disable-component-update': '',
  'disable-domain-reliability': '',
  'dns-prefetch-disable': '',
  'no-pings': '',
});

/**
 * Call before the app is ready; later Chromium has read its command line.
 *
 * @param {{ commandLine: { appendSwitch(name: string, value?: string): void } }} app Electron's
 */
export function goOffline(app) {
  for (const [name, value] of Object.entries(OFFLINE_SWITCHES)) {
    if (value) app.commandLine.appendSwitch(name, value);
    else app.commandLine.appendSwitch(name);
  }
}
