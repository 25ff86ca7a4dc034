"""Weights of the ranking that are learned from a repository's own questions."""

from dataclasses import asdict

from codekernel.dispatch.routing import Lane
from codekernel.domain.untrusted_text import decode_path
from codekernel.handlers.context import session_router
from codekernel.protocol.messages.search import GainEntry, TuneRanking, TuneRankingReply
from codekernel.runtime.sessions import Session
from codekernel.search.ranking_weights import delete_weights, write_weights
from codekernel.search.tuning import learn_weights


@session_router.handles(TuneRanking, lane=Lane.OWN_THREAD)
def tune_ranking(message: TuneRanking, session: Session) -> TuneRankingReply:
    """Learn weights from questions and keep them if they hold; without questions, forget them."""
    searcher, folder = session.workspace.searcher, session.workspace.index.store.folder
    questions = [
        (each.text, frozenset(map(decode_path, each.file_paths))) for each in message.questions
    ]
    learned = learn_weights(questions, searcher.prepare, session.cancel)
    if learned.holds:
        write_weights(folder, learned.weights)
    elif not questions:
        delete_weights(folder)
    return TuneRankingReply(
        kept=learned.holds,
        weights=asdict(learned.weights),
        trained=learned.trained_count,
        set_aside=learned.set_aside_count,
        before=learned.before,
        training_gain=GainEntry(**asdict(learned.training_gain)),
        gain=GainEntry(**asdict(learned.gain)),
    )
