"""Many conversations at once: every token is there, once, in order, in its own conversation."""

import threading
import time

from chat_window import ChatKernel, Reply, answer_tokens, kind
from verdicts import verdict

FIRST_CONVERSATION = 10_000


def measure_crowd(kernel: ChatKernel, conversations: int, tokens: int, rate: int) -> list[bool]:
    """Ask all at the same moment; whether nothing was lost, doubled or out of order."""
    replies: dict[int, list[Reply]] = {}
    together = threading.Barrier(conversations)

    def ask(number: int) -> None:
        together.wait()
        window = number % kernel.windows + 1
        question = f"bench c{number} {tokens} at {rate}"
        replies[number] = kernel.asked(FIRST_CONVERSATION + number, question, window)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(conversations)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    events = sum(map(len, replies.values()))
    late = sorted(
        (moment - int(token.split(":")[2])) / 1e6
        for each in replies.values()
        for moment, token in answer_tokens(each)
    )
    print(
        f"\ncrowd: {conversations} conversations in {kernel.windows} windows at once, each of"
        f" {tokens} tokens at {rate}/s: {events} events in {seconds:.1f} s; from the server"
        f" to the front end p50 {late[len(late) // 2]:.1f} ms,"
        f" p99 {late[len(late) * 99 // 100]:.1f} ms"
    )
    wrong = conversations - len(replies)
    wrong += sum(not _is_whole(number, each, tokens) for number, each in replies.items())
    return [verdict("conversations with a lost, doubled or misplaced event", wrong, 0)]


def _is_whole(number: int, replies: list[Reply], tokens: int) -> bool:
    kinds = [kind(reply) for reply in replies]
    places = [token.split(":")[:2] for _, token in answer_tokens(replies)]
    expected = [[f"c{number}", str(place)] for place in range(tokens)]
    return (
        kinds[0] == "ack"
        and kinds[-1] == "done"
        and kinds.count("done") == 1
        and "error" not in kinds
        and places == expected
    )
