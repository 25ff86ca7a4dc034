/** Which grammar of highlight.js a language has, fetched when it is first needed. */

import hljs from '../../vendor/highlight/core.min.js';

/** @type {string[]} those whose name is the kernel's */
const SAME = (
  'bash c clojure cmake cpp csharp css dart diff dockerfile elixir erlang fsharp go graphql ' +
  'groovy haskell ini java javascript json julia kotlin latex less lua markdown nim nix ocaml ' +
  'perl php powershell protobuf python r ruby rust scala scheme scss sql swift typescript vim ' +
  'xml yaml shell makefile objectivec'
).split(' ');

/** What others are called, and what comes close enough. */
const OTHERS = {
  make: 'makefile',
  objc: 'objectivec',
  batch: 'dos',
  html: 'xml',
  vue: 'xml',
  svelte: 'xml',
  astro: 'xml',
  razor: 'xml',
  erb: 'xml',
  eex: 'xml',
  ejs: 'xml',
  handlebars: 'xml',
  jsx: 'javascript',
  tsx: 'typescript',
  coffeescript: 'javascript',
  toml: 'ini',
  terraform: 'ini',
  notebook: 'json',
  starlark: 'python',
  meson: 'python',
  gdscript: 'python',
  cuda: 'cpp',
  metal: 'cpp',
  glsl: 'c',
  hlsl: 'c',
  zig: 'rust',
  elisp: 'scheme',
  lisp: 'scheme',
  racket: 'scheme',
  fish: 'bash',
  nushell: 'bash',
  gomod: 'go',
  thrift: 'protobuf',
  crystal: 'ruby',
  raku: 'perl',
  solidity: 'javascript',
  // names that models write after ```
  py: 'python',
  python3: 'python',
  js: 'javascript',
  mjs: 'javascript',
  ts: 'typescript',
  sh: 'bash',
  zsh: 'bash',
  console: 'shell',
  yml: 'yaml',
  md: 'markdown',
  rs: 'rust',
  golang: 'go',
  rb: 'ruby',
  kt: 'kotlin',
  cs: 'csharp',
  'c++': 'cpp',
  'c#': 'csharp',
  cc: 'cpp',
  h: 'cpp',
  hpp: 'cpp',
  hs: 'haskell',
  ex: 'elixir',
  patch: 'diff',
  docker: 'dockerfile',
  proto: 'protobuf',
  tex: 'latex',
  jsonc: 'json',
  json5: 'json',
  ps1: 'powershell',
  bat: 'dos',
  cmd: 'dos',
};
/** What a grammar colours inside itself. */
const INNER = /** @type {Record<string, string[]>} */ ({
  xml: ['css', 'javascript'],
  markdown: ['xml'],
  php: ['xml'],
});

/** @type {Map<string, string>} */
const NAMES = new Map([...SAME.map((name) => [name, name]), ...Object.entries(OTHERS)].map(pair));
/** @type {Map<string, Promise<boolean>>} */
const fetched = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();
let count = 0;

/** Changes when another grammar is there: what was coloured before may be coloured better. */
export function grammarCount() {
  return count;
}

/**
 * @param {string} language the kernel's name, or what stands after ```
 * @returns {string | null}
 */
export function grammarOf(language) {
  return NAMES.get(language.toLowerCase()) ?? null;
}

/**
 * The text as HTML of highlight.js; null if there is no grammar, or not yet. It is then fetched,
 * and `onGrammar` says when it is there.
 *
 * @param {string} text
 * @param {string} language
 * @returns {string | null}
 */
export function highlighted(text, language) {
  const name = grammarOf(language);
  if (!name) return null;
  if (!hljs.getLanguage(name)) {
    fetchGrammar(name);
    return null;
  }
  return hljs.highlight(text, { language: name, ignoreIllegals: true }).value;
}

/**
 * @param {string} name as `grammarOf` has it
 * @returns {Promise<boolean>} whether it is there
 */
export function fetchGrammar(name) {
  const known = fetched.get(name);
  if (known) return known;
  const under = register(name);
  fetched.set(name, under);
  return under;
}

/**
 * @param {() => void} listener another grammar is there
 * @returns {() => void} ends it
 */
export function onGrammar(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {string} name */
async function register(name) {
  try {
    await Promise.all((INNER[name] ?? []).map(fetchGrammar));
    const { default: grammar } = await import(`../../vendor/highlight/languages/${name}.min.js`);
    hljs.registerLanguage(name, grammar);
  } catch {
    return false; // without its grammar, code is shown in one colour
  }
  count += 1;
  for (const listener of listeners) listener();
  return true;
}

/**
 * @param {string[]} entry
 * @returns {[string, string]}
 */
function pair([from, to]) {
  return [from, to];
}
