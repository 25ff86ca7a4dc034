/** English: the shell. */

/** @type {import('../../common/text_format.js').Texts} */
export const en = {
  'palette.open': 'Go to anything',
  'palette.title': 'Go to anything',
  'palette.label': 'Name of a repository, file, symbol or action',
  'palette.placeholder': 'Repository, file, symbol, search or action',
  'palette.placeholder.repos': 'Repository or action',
  'palette.none': 'Nothing is called that.',
  'palette.none.repos':
    'No repository or action is called that. Open a repository to go to its files and symbols.',
  'palette.search': 'Search for “{text}”',
  'palette.tab': 'Show {name}',
  'palette.repos': 'Show repositories',
  'palette.add': 'Add a repository',
  'palette.settings': 'Open settings',
  'palette.section': 'Settings: {name}',
  'palette.theme': 'Theme: {name}',
  'palette.language': 'Language: {name}',
  'palette.kind.action': 'action',
  'palette.kind.repository': 'repository',
  'palette.kind.file': 'file',
  'palette.kind.symbol': 'symbol',
  'palette.kind.query': 'search',
};
