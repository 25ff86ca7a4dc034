/** The editors that are known, and how each is told a line. */

/** @typedef {(file: string, line: number) => string[]} LineSyntax */

/** @type {LineSyntax} */
const goto = (file, line) => ['--goto', `${file}:${line}`];
/** @type {LineSyntax} */
const colon = (file, line) => [`${file}:${line}`];
/** @type {LineSyntax} */
const option = (file, line) => ['--line', String(line), file];
/** @type {LineSyntax} */
const plus = (file, line) => [`+${line}`, file];
/** @type {LineSyntax} */
const fileAlone = (file) => [file];

/**
 * In the order in which they are looked for. Only editors with a window of their own: there is no
 * terminal to show another one in.
 *
 * @type {ReadonlyMap<string, LineSyntax>}
 */
export const EDITORS = new Map([
  ['code', goto],
  ['cursor', goto],
  ['windsurf', goto],
  ['code-insiders', goto],
  ['codium', goto],
  ['zed', colon],
  ['zeditor', colon],
  ['subl', colon],
  ['idea', option],
  ['pycharm', option],
  ['webstorm', option],
  ['goland', option],
  ['clion', option],
  ['rustrover', option],
  ['phpstorm', option],
  ['rubymine', option],
  ['rider', option],
  ['kate', option],
  ['mate', option],
  ['bbedit', plus],
  ['gvim', plus],
  ['gedit', plus],
  ['gnome-text-editor', plus],
  ['xed', plus],
  ['notepad++', (file, line) => [`-n${line}`, file]],
]);

/** A .cmd cannot be started without a shell, which would read file names as commands. */
const WINDOWS_PROGRAMS = new Map([
  ['code', 'Code.exe'],
  ['cursor', 'Cursor.exe'],
  ['windsurf', 'Windsurf.exe'],
  ['code-insiders', 'Code - Insiders.exe'],
  ['codium', 'VSCodium.exe'],
]);

/**
 * @typedef {{ name: string, program: string, args: string[] }} Wish
 * an editor that a person named: the program, and what they put behind it
 * @typedef {(program: string) => string | null} Find the whole path of a program, if it is there
 */

/**
 * The editor to use, whole and ready to be started; null if none was found.
 *
 * @param {string} file
 * @param {number} line from 1
 * @param {{ environ: Record<string, string | undefined>, find: Find }} surroundings
 * @returns {{ editor: string, program: string, args: string[] } | null}
 */
export function editorCommand(file, line, { environ, find }) {
  for (const { name, program, args } of wishes(environ)) {
    const found = find(program);
    const syntax = EDITORS.get(name) ?? fileAlone;
    if (found) return { editor: name, program: found, args: [...args, ...syntax(file, line)] };
  }
  for (const [name, syntax] of EDITORS) {
    const found = find(name);
    if (found) return { editor: name, program: found, args: syntax(file, line) };
  }
  return null;
}

/**
 * What the environment asks for. CODEKERNEL_EDITOR is taken at its word; VISUAL and EDITOR are
 * often meant for a terminal.
 *
 * @param {Record<string, string | undefined>} environ
 * @returns {Wish[]}
 */
export function wishes(environ) {
  const own = wish(environ.CODEKERNEL_EDITOR);
  const usual = [wish(environ.VISUAL), wish(environ.EDITOR)];
  return [own, ...usual.filter((one) => one && EDITORS.has(one.name))].filter(
    (one) => one !== null,
  );
}

/**
 * Where a program of Windows may be, when PATH has only its .cmd in a folder `bin`.
 *
 * @param {string} name
 */
export function windowsProgram(name) {
  return WINDOWS_PROGRAMS.get(name) ?? null;
}

/**
 * @param {string | undefined} command
 * @returns {Wish | null}
 */
function wish(command) {
  const words = [...(command ?? '').matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain,
  );
  const [program, ...args] = words;
  if (!program) return null;
  const name = /** @type {string} */ (program.split(/[\\/]/).pop()).replace(/\.exe$/i, '');
  return { name, program, args };
}
