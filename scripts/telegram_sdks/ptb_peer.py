"""The same bot as aiogram_peer.py, made with python-telegram-bot."""

import asyncio
import json
import sys
from typing import Any

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, Update
from telegram.error import BadRequest, RetryAfter
from telegram.ext import Application, CallbackQueryHandler, MessageHandler, filters

PAUSE_SECONDS = 1.1
TOO_LONG = "x" * 5000


async def try_refusals(bot: Bot, chat_id: int) -> dict[str, str]:
    """Return the words of each refusal."""
    refusals: dict[str, str] = {}
    for name, text in (("html", "<div>no</div>"), ("long", TOO_LONG), ("empty", "<b></b>")):
        try:
            await bot.send_message(chat_id, text, parse_mode="HTML")
        except BadRequest as error:
            refusals[name] = error.message
    sent = await bot.send_message(chat_id, "same")
    try:
        await bot.edit_message_text("same", chat_id=chat_id, message_id=sent.message_id)
    except BadRequest as error:
        refusals["same"] = error.message
    try:
        await bot.send_message(chat_id, "too soon")
    except RetryAfter as error:
        refusals["soon"] = error.message
    await asyncio.sleep(PAUSE_SECONDS)
    await bot.send_document(chat_id, b"content", filename="a.txt", caption="a file")
    return refusals


async def main() -> None:
    """Serve one person."""
    address, token = sys.argv[1:]
    application = Application.builder().token(token).base_url(f"{address}/bot").build()
    is_done = asyncio.Event()

    async def echo(update: Update, _context: Any) -> None:
        button = InlineKeyboardButton("Press", callback_data="pressed-1")
        if update.message is not None:
            await update.message.reply_html(
                f"<b>{update.message.text}</b>", reply_markup=InlineKeyboardMarkup([[button]])
            )

    async def press(update: Update, _context: Any) -> None:
        query = update.callback_query
        await query.answer(f"got {query.data}")
        await asyncio.sleep(PAUSE_SECONDS)
        await query.edit_message_text("<i>edited</i>", parse_mode="HTML")
        await asyncio.sleep(PAUSE_SECONDS)
        refusals = await try_refusals(application.bot, query.message.chat.id)
        me = application.bot.username
        print(json.dumps({"me": me, "refusals": refusals}), flush=True)
        is_done.set()

    application.add_handler(MessageHandler(filters.TEXT, echo))
    application.add_handler(CallbackQueryHandler(press))
    async with application:
        await application.start()
        await application.updater.start_polling(timeout=5)
        await is_done.wait()
        await application.updater.stop()
        await application.stop()


asyncio.run(main())
