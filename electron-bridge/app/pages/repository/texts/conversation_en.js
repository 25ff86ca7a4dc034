/** English: conversations. */

/** @type {import('../../common/text_format.js').Texts} */
export const conversationEn = {
  'talks.title': 'Conversations',
  'talks.new': 'New',
  'talks.empty': 'None yet. Ask something.',
  'talks.running': 'answering…',
  'talks.unsaved': 'not saved yet',
  'talks.damaged': 'damaged: what can be read is shown',
  'talks.turns': { one: '{count} question', other: '{count} questions' },
  'talks.delete': 'Delete the conversation “{topic}”',
  'talks.delete.short': 'Delete',
  'talks.delete.title': 'Delete this conversation?',
  'talks.delete.text':
    'Its questions and answers are deleted from this machine, and what an agent changed in it can no longer be undone. This is for good.',

  'start.ask.title': 'Ask about {name}',
  'start.ask.text':
    'The code that matters is looked up on this machine and sent to the model you choose. Places in the answer are checked against your files.',
  'start.ask.first': 'What are the main parts, and how do they work together?',
  'start.ask.second': 'Where does the program begin, and what happens first?',
  'start.ask.third': 'How are errors handled?',
  'talk.toEnd': 'To the end',

  'ask.label': 'Your question',
  'ask.placeholder': 'Ask about this repository…',
  'ask.hint': 'Enter sends, Shift+Enter begins a line',
  'ask.memory': 'Memory: {used} of {most} characters',
  'ask.memory.cut': 'Memory full ({most} characters): the oldest turns are left out',
  'ask.memory.hint':
    'How much of this conversation the model is given again; the settings say how much at the most',
  'ask.editing': 'You edit an earlier question. The conversation so far stays in the list.',
  'ask.model': 'Chat model',
  'ask.send': 'Ask',
  'ask.stop': 'Stop',
  'ask.stopping': 'Stopping…',
  'ask.none': 'There is no chat model yet.',
  'ask.none.advice':
    'Choose a provider, or a server on this machine such as Ollama; it takes a minute.',
  'ask.none.settings': 'Add chat model',

  'turn.question': 'Question',
  'turn.answer': 'Answer',
  'turn.asking': 'Asking…',
  'turn.searching': 'Looking through the code…',
  'turn.thinking': 'Waiting for the model…',
  'turn.stopped': 'Stopped. What was there is kept.',
  'turn.interrupted': 'The kernel ended before the answer was complete.',
  'turn.failed': 'The chat model failed.',
  'turn.again': 'Ask again',
  'turn.settings': 'Settings of the models',
  'turn.copy': 'Copy answer',
  'turn.regenerate': 'Regenerate',
  'turn.edit': 'Edit',
  'turn.edit.hint': 'Ask this differently, in a conversation of its own',
  'turn.fork': 'Fork',
  'turn.fork.hint': 'Go on from here in a conversation of its own; this one stays as it is',
  'turn.forked': 'You are in a copy now; the original stays in the list.',
  'talk.export': 'Export',
  'talk.export.hint': 'Save this conversation as Markdown',
  'sources.title': 'Sources',
  'sources.count': { one: '{count} source', other: '{count} sources' },
  'sources.shown': 'looked up',
  'turn.usage': '{input} tokens in, {output} out',
  'turn.usage.exact': 'Counted by the provider',
  'turn.usage.about': 'Counted here; the provider may count differently',
  'turn.unsaved':
    'This answer is not saved yet: it is kept in memory and written as soon as the disk takes it.',
  'turn.masked': { one: '{count} secret masked', other: '{count} secrets masked' },
  'turn.masked.hint':
    'Keys, tokens and passwords that were replaced before the text left this machine',

  'spoken.answering': 'The answer is coming.',
  'spoken.done': 'The answer is complete.',
  'spoken.stopped': 'The answer was stopped.',
  'spoken.failed': 'The answer failed.',
  'spoken.interrupted': 'The answer was interrupted.',

  'round.name': 'Round {number}',
  'round.found': { one: '{count} excerpt', other: '{count} excerpts' },
  'round.queries': 'Searched for',

  'answer.table': 'Table',
  'cite.open': 'Show the source',
  'cite.verified': 'verified',
  'cite.verified.hint': 'Verified: the file says there what the model was shown',
  'cite.moved': 'moved',
  'cite.moved.hint': 'Moved: these lines stand at {lines} now',
  'cite.stale': 'stale',
  'cite.stale.hint': 'Stale: the file does not say that any more',
  'cite.missing': 'not found',
  'cite.missing.hint': 'Not found: the model was not shown this place',
  'cite.reason.the-file-was-not-among-what-was-retrieved':
    'the file was not among what was looked up',
  'cite.reason.these-lines-were-not-among-what-was-retrieved':
    'these lines were not among what was looked up',
  'cite.reason.the-lines-have-changed-since': 'the lines have changed since',
};
