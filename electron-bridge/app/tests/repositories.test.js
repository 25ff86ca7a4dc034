/** The order of the list, its filter, and what people write for a folder. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { findFolderProblem, folderName, tidyPath } from '../pages/common/folders.js';
import { pageAddress } from '../pages/common/page_address.js';
import { filterRepos, sortByRecent, usedTimes } from '../pages/repos/repo_order.js';

const repo = (/** @type {string} */ name, path = `/code/${name}`) => ({ name, path });
const names = (/** @type {{ name: string }[]} */ repos) => repos.map(({ name }) => name);

test('the last one opened comes first, those never opened come last, newest first', () => {
  const repos = ['old', 'never', 'new', 'added'].map((name) => repo(name));
  assert.deepEqual(names(sortByRecent(repos, { old: 1, new: 2 })), [
    'new',
    'old',
    'added',
    'never',
  ]);
  assert.deepEqual(names(repos), ['old', 'never', 'new', 'added'], 'what was given is untouched');
});

test('what a terminal has used counts as used', () => {
  const index = (/** @type {string} */ repoName, /** @type {number} */ usedAt) =>
    /** @type {any} */ ({ repoName, usedAt });
  const times = usedTimes({ a: 5, b: 9 }, [
    index('a', 7),
    index('b', 1),
    index('c', 3),
    index('', 8),
  ]);
  assert.deepEqual(times, { a: 7, b: 9, c: 3 });
});

test('a filter wants each of its words, in name or folder, in any case', () => {
  const repos = [repo('alpha', '/work/alpha'), repo('beta', '/home/Work/beta'), repo('gamma')];
  assert.deepEqual(names(filterRepos(repos, 'work')), ['alpha', 'beta']);
  assert.deepEqual(names(filterRepos(repos, ' BETA  work ')), ['beta']);
  assert.deepEqual(names(filterRepos(repos, '')), ['alpha', 'beta', 'gamma']);
  assert.deepEqual(filterRepos(repos, 'a*'), []);
});

test('a repository is called what its folder is called', () => {
  assert.equal(folderName('/home/me/demo'), 'demo');
  assert.equal(folderName('/home/me/demo//'), 'demo');
  assert.equal(folderName(' "/home/me/my demo" '), 'my demo');
  assert.equal(folderName('C:\\code\\demo\\'), 'demo');
  assert.equal(folderName('\\\\server\\share\\demo'), 'demo');
  assert.equal(folderName('/odd/back\\slash'), 'back\\slash');
  assert.equal(folderName('/'), '');
  assert.equal(folderName(''), '');
});

test('a folder must be there and whole', () => {
  assert.equal(findFolderProblem('  '), 'empty');
  assert.equal(findFolderProblem('demo'), 'relative');
  assert.equal(findFolderProblem('~/demo'), 'relative');
  assert.equal(findFolderProblem('/demo'), null);
  assert.equal(findFolderProblem('c:/demo'), null);
  assert.equal(tidyPath("'/a b'"), '/a b');
  assert.equal(tidyPath("/it's"), "/it's");
});

test('an address survives any name', () => {
  const address = new URL(pageAddress('repository', { repoName: 'a&b=ü #?' }), 'http://x/');
  assert.equal(address.searchParams.get('repo'), 'a&b=ü #?');
  assert.equal(address.hash, '');
  assert.equal(pageAddress('settings'), 'settings.html');
});
