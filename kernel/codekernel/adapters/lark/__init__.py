"""Lark and Feishu: agent sessions as cards of a chat, over the platform's long connection.

frames          the protobuf frame of the long connection
connection      the long connection: events and clicks in, answers within three seconds
api             token, send, update, with the platform's rates and errors
card_markdown   text of an agent as the Markdown of a card, and how it is split
cards           steps of a turn -> cards of at most 28 KB
store           events that came, cards that were sent; on disk
turn_cards      which cards a chat has, and what to send or update next
delivery        everything that goes to one chat, in order and within the rates
inbox           messages to agents, commands, buttons
adapter         the bot as the hub starts and stops it
"""
