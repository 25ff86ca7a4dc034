"""A question about a repository: retrieval in rounds, a streamed answer, and what is kept of it.

``conversations``  the door: begin, stop, recover, delete
``archive``        the conversations there are: listed and read
``under_way``      one turn from its beginning to its place in the history
``talk``           a turn that is a question; that of an agent is ``agent/conversing.py``
``converse``       the loop: ask the model, search what it wants, ask again
``exchange``       one request and its reply
``reply_reader`` ``tool_calls``         a reply read while it streams: answer, or a wish to search
``retrieving``     searches of a round, in parallel and without repetition
``surroundings``   an excerpt grown to the whole definition
``prompts`` ``rendering`` ``budget``    what the model is given to read
``remembered``     what of earlier turns it is given
``citations`` ``verification``          places that the answer names, held against the disk
``fold`` ``agent_fold`` ``history`` ``bookkeeping``    what is kept of a turn, whatever happens
``metered``        what a model costs that somebody else asks
``models`` ``running``                  which models can be asked, which conversations run
"""
