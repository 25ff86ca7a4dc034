/** English: what is known of a place in the code. */

/** @type {import('../../common/text_format.js').Texts} */
export const insightEn = {
  'insight.title': 'Impact and history',
  'insight.hint': 'Callers, callees, tests and commits of these lines (i)',
  'insight.place': 'About: a name, path:line or path:first-last; Enter asks',
  'insight.close': 'Close impact and history',
  'insight.back': 'Back',
  'insight.definitions': 'Defined here',
  'insight.callers': 'Callers',
  'insight.callees': 'Calls',
  'insight.tests': 'Tests that reach it',
  'insight.commits': 'Commits behind these lines',
  'insight.none': 'None are known.',
  'insight.reading': 'Reading who calls whom…',
  'insight.asking': 'Asking git…',
  'insight.noCode': 'There is no definition at this place.',
  'insight.noHistory': 'Git has no history of this place.',
  'insight.likely': 'likely',
  'insight.possible': 'possible',
  'insight.away': '{count} calls away',
  'insight.more': 'and {count} more',
  'insight.weak': {
    one: 'and {count} with less evidence',
    other: 'and {count} with less evidence',
  },
  'insight.behind': {
    one: '{count} file has not been read yet.',
    other: '{count} files have not been read yet.',
  },
  'insight.lines': { one: '{count} line', other: '{count} lines' },
  'insight.uncommitted': {
    one: '{count} line is not committed.',
    other: '{count} lines are not committed.',
  },
  'insight.moreCommits': 'There are older ones.',
  'key.insight': 'callers, tests and commits of it',
};
