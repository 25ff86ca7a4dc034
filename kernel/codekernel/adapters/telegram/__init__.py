"""Telegram: a whole conversation with an agent in a chat (docs/telegram.md).

Modules, in the order data meets them:

    api.py              the methods of the Bot API, and its errors
    adapter.py          the threads: updates of the bot, events of the sessions
    incoming.py         what people write and press
    followed_chats.py   what each chat is to show of its session
    rendering.py        a turn as messages
    markdown_spans.py   Markdown as formatted text
    rich_text.py        formatted text as pages of HTML within the limits
    message_store.py    what was sent, what is to be sent, and what an item lacks; on disk
    turn_messages.py    sends and edits messages within the rates, once
"""
