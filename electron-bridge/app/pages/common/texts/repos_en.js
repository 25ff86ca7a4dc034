/** English words of the list of repositories. */

/** @type {import('../text_format.js').Texts} */
export const reposEn = {
  'repos.title': 'Repositories',
  'repos.add': 'Add repository',
  'repos.count': { one: '{count} repository', other: '{count} repositories' },
  'repos.list': 'Repositories, last opened first',
  'repos.filter': 'Filter by name or folder',
  'repos.filter.none': 'No repository matches “{filter}”.',
  'repos.filter.clear': 'Clear the filter',
  'repos.name': 'Name',
  'repos.folder': 'Folder',
  'repos.opened': 'Last opened',
  'repos.opened.never': 'not opened yet',
  'repos.opened.at': 'Opened {ago}',
  'repos.actions': 'Actions',
  'repos.open.label': 'Open {name}',
  'repos.delete.label': 'Delete {name} from the list',
  'repos.loading': 'Loading the repositories…',
  'repos.empty.title': 'Add the first repository',
  'repos.empty.text':
    'Choose a folder with code. codekernel reads it, builds an index of it in the user data of the app, and finds what you look for. The folder itself is only read, and searching needs no network.',
  'repos.keys': '{up} {down} to move, {enter} to open, {delete} to delete',
  'repos.keys.filter': ', {filter} to filter',

  'create.title': 'Add a repository',
  'create.folder': 'Folder',
  'create.folder.hint': 'The whole path of a folder that exists.',
  'create.name': 'Name',
  'create.name.hint': 'The name of the folder; the kernel takes no other.',
  'create.submit': 'Add and open',
  'create.folder.empty': 'Give the folder.',
  'create.folder.relative': 'Give the whole path, from the root on.',
  'create.done': '{name} was added',

  'delete.title': 'Delete {name} from the list?',
  'delete.text': 'Its index is deleted, and it is closed wherever it is open.',
  'delete.folder': 'The folder itself is not touched:',
  'delete.confirm': 'Delete from the list',
  'delete.done': '{name} was deleted from the list; its folder was not touched',
};
