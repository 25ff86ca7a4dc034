"""A bot made with aiogram, for scripts/check_telegram_sdks.py: ``python FILE ADDRESS TOKEN``.

Echoes a message with a button, edits it when the button is pressed, and prints what it was refused.
"""

import asyncio
import json
import sys

from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import TelegramBadRequest, TelegramRetryAfter
from aiogram.types import (
    BufferedInputFile,
    CallbackQuery,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    Message,
)

PAUSE_SECONDS = 1.1
TOO_LONG = "x" * 5000


async def try_refusals(bot: Bot, chat_id: int) -> dict[str, str]:
    """Return the words of each refusal."""
    refusals: dict[str, str] = {}
    for name, text in (("html", "<div>no</div>"), ("long", TOO_LONG), ("empty", "<b></b>")):
        try:
            await bot.send_message(chat_id, text, parse_mode="HTML")
        except TelegramBadRequest as error:
            refusals[name] = error.message
    sent = await bot.send_message(chat_id, "same")
    try:
        await bot.edit_message_text("same", chat_id=chat_id, message_id=sent.message_id)
    except TelegramBadRequest as error:
        refusals["same"] = error.message
    try:
        await bot.send_message(chat_id, "too soon")
    except TelegramRetryAfter as error:
        refusals["soon"] = f"retry after {error.retry_after}"
    await asyncio.sleep(PAUSE_SECONDS)
    await bot.send_document(chat_id, BufferedInputFile(b"content", "a.txt"), caption="a file")
    return refusals


async def main() -> None:
    """Serve one person."""
    address, token = sys.argv[1:]
    bot = Bot(token, session=AiohttpSession(api=TelegramAPIServer.from_base(address)))
    dispatcher = Dispatcher()
    me = await bot.get_me()

    @dispatcher.message()  # type: ignore[untyped-decorator] # not installed here
    async def echo(message: Message) -> None:
        button = InlineKeyboardButton(text="Press", callback_data="pressed-1")
        keyboard = InlineKeyboardMarkup(inline_keyboard=[[button]])
        await message.answer(f"<b>{message.text}</b>", parse_mode="HTML", reply_markup=keyboard)

    @dispatcher.callback_query()  # type: ignore[untyped-decorator]
    async def press(query: CallbackQuery) -> None:
        await query.answer(f"got {query.data}")
        await asyncio.sleep(PAUSE_SECONDS)
        if isinstance(query.message, Message):
            await query.message.edit_text("<i>edited</i>", parse_mode="HTML")
            await asyncio.sleep(PAUSE_SECONDS)
            refusals = await try_refusals(bot, query.message.chat.id)
            print(json.dumps({"me": me.username, "refusals": refusals}), flush=True)
            await dispatcher.stop_polling()

    await dispatcher.start_polling(bot, polling_timeout=5, handle_signals=False)


asyncio.run(main())
