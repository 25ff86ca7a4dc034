/** Made by scripts/make_bridge_types.py from this folder's files. Do not edit. */

/** @type {import('../common/i18n.js').LanguageFile[]} */
export const furtherLanguages = [];
