/** Choose an editor and its arguments for a file and a line. */

import { EDITORS } from '../../src/page_api.js';

/**
 * @typedef {{ name: string, program: string, args: string[] }} EditorPreference
 * an editor that the user named: the program and its arguments
 * @typedef {(program: string) => string | null} ProgramFinder the whole path of a program, if it is there
 */

/**
 * The editor to use, whole and ready to be started; null if none was found.
 *
 * @param {string} file
 * @param {number} line from 1
 * @param {{ environ: Record<string, string | undefined>, find: ProgramFinder }} surroundings
 * @returns {{ editor: string, program: string, args: string[] } | null}
 */
export function findEditorCommand(file, line, { environ, find }) {
  for (const { name, program, args } of readPreferences(environ)) {
    const found = find(program);
    if (!found) continue;
    const template = isKnown(name) ? EDITORS[name] : ['{file}'];
    return { editor: name, program: found, args: [...args, ...fillIn(template, file, line)] };
  }
  for (const [name, template] of Object.entries(EDITORS)) {
    const found = find(name);
    if (found) return { editor: name, program: found, args: fillIn(template, file, line) };
  }
  return null;
}

/**
 * What the environment asks for. CODEKERNEL_EDITOR is taken at its word; VISUAL and EDITOR are
 * often meant for a terminal.
 *
 * @param {Record<string, string | undefined>} environ
 * @returns {EditorPreference[]}
 */
export function readPreferences(environ) {
  const own = parsePreference(environ.CODEKERNEL_EDITOR);
  const usual = [parsePreference(environ.VISUAL), parsePreference(environ.EDITOR)];
  return [own, ...usual.filter((one) => one && isKnown(one.name))].filter((one) => one !== null);
}

/**
 * @param {string | undefined} command
 * @returns {EditorPreference | null}
 */
function parsePreference(command) {
  const words = [...(command ?? '').matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain,
  );
  const [program, ...args] = words;
  if (!program) return null;
  const name = /** @type {string} */ (program.split(/[\\/]/).pop()).replace(/\.exe$/i, '');
  return { name, program, args };
}

/**
 * @param {readonly string[]} template
 * @param {string} file
 * @param {number} line
 */
function fillIn(template, file, line) {
  return template.map((argument) =>
    argument.replace(/\{(file|line)\}/g, (_, name) => (name === 'file' ? file : String(line))),
  );
}

/** @param {string} name */
function isKnown(name) {
  return Object.hasOwn(EDITORS, name);
}
