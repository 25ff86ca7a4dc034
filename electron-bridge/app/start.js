/** `npm start`: the app in the Electron of node_modules; says what to do when that is not there. */

import { spawn } from 'node:child_process';

/** @returns {Promise<string | null>} the program, null if its download failed */
async function findElectron() {
  try {
    return /** @type {any} */ (await import('electron')).default;
  } catch {
    return null;
  }
}

const program = await findElectron();
if (typeof program !== 'string') {
  console.error(
    'Electron is not here: its download failed or was skipped. Try `npx install-electron` again ' +
      '(ELECTRON_MIRROR names another place to fetch it from), or use the app in your browser, ' +
      'without Electron: `codekernel web`, or `python scripts/run.py` in the project.',
  );
  process.exit(1);
}
const app = spawn(program, ['.', ...process.argv.slice(2)], { stdio: 'inherit' });
app.on('error', (error) => {
  console.error(`Electron cannot be started: ${error.message}. \`codekernel web\` needs none.`);
  process.exitCode = 1;
});
app.on('exit', (code) => (process.exitCode = code ?? 1));
