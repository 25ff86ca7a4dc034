/** Makes `import 'vscode'` find the one of the tests. */

import { register } from 'node:module';

const fake = new URL('vscode.js', import.meta.url).href;
const hooks = `
export function resolve(name, context, next) {
  return name === 'vscode' ? { url: '${fake}', shortCircuit: true } : next(name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
