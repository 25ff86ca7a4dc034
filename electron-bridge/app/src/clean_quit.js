/** Quit the app: windows first, then the kernel, then the process; a second quit exits at once. */

/**
 * @param {{
 *   app: any,
 *   stop(): Promise<unknown>,
 *   signals?: import('node:events').EventEmitter,
 * }} host `stop`: ends what must not be cut off
 */
export function quitCleanly({ app, stop, signals = process }) {
  let isLeaving = false;
  const leave = () => {
    if (isLeaving) {
      app.exit(1); // the kernel notices that its input has ended
      return;
    }
    isLeaving = true;
    stop().then(
      () => app.exit(0),
      () => app.exit(1),
    );
  };
  app.on('before-quit', () => isLeaving && leave());
  app.on('will-quit', (/** @type {any} */ event) => {
    event.preventDefault();
    if (!isLeaving) leave();
  });
  // Pages are not asked whether they may be closed: the sender of a signal does not see them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) signals.on(signal, leave);
}
