/** `npm run dist`: hands over to scripts/dist.py, with the Python that is there. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../scripts/dist.py', import.meta.url));
const given = process.env.CODEKERNEL_PYTHON;

for (const python of given ? [given] : ['python3', 'python']) {
  const { error, status } = spawnSync(python, [script, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  if (error) continue; // under another name, perhaps
  process.exit(status ?? 1);
}
console.error('Python was not found; CODEKERNEL_PYTHON may name it.');
process.exit(1);
