"""Lark and Feishu: agent sessions as cards of a chat, over the platform's long connection.

frames          the protobuf frame of the long connection
connection      the long connection: events and clicks in, answers within three seconds
api             token, send, update, with the platform's rates and errors
card_markdown   text of an agent as the Markdown of a card, and how it is split
cards           messages of a turn -> cards of at most 28 KB
"""
