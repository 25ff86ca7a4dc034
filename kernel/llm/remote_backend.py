"""A chat model behind a url: asks, reads the stream, and counts what was said."""

from collections.abc import Iterator
from typing import Any

import httpx

from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatEvent, ChatRequest, TokensUsed
from kernel.errors import Cancelled, NetworkError
from kernel.llm.answer import Answer
from kernel.llm.complaints import complaint, learn
from kernel.llm.connections import Connections
from kernel.llm.dialect import AnswerReader, Dialect, Garbled, Reported
from kernel.llm.endpoint import ChatEndpoint
from kernel.llm.exchange import Exchange, Opened
from kernel.llm.explain import broke_off
from kernel.llm.patience import Patience
from kernel.llm.refusals import not_a_completion
from kernel.llm.token_counting import TokenCounter
from kernel.llm.traits import Traits
from kernel.masking.known_secrets import secrets_of


class RemoteBackend:
    """A ``ChatBackend``; everything that differs between endpoints is in its dialect and traits."""

    def __init__(  # noqa: PLR0913 - the parts it is put together from
        self,
        endpoint: ChatEndpoint,
        *,
        dialect: Dialect,
        traits: Traits,
        counter: TokenCounter,
        connections: Connections,
        patience: Patience,
    ) -> None:
        self._endpoint = endpoint
        self._dialect = dialect
        self._traits = traits
        self._counter = counter
        self._connections = connections
        self._patience = patience
        self._secrets = secrets_of(endpoint.url, endpoint.api_key)

    @property
    def model_name(self) -> str:
        """The name that usage is recorded under."""
        return self._endpoint.model_name

    @property
    def calls_tools(self) -> bool:
        """Whether tools may be given; turns false once the endpoint has refused them."""
        return self._traits.calls_tools

    @property
    def context_tokens(self) -> int | None:
        """How much the model can read and write at once; known once the endpoint has said it."""
        return self._traits.context_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, by the tokenizer this backend was given."""
        return self._counter.text(text)

    def close(self) -> None:
        """Close idle connections now, and the others when their answers end."""
        self._connections.close()

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        """Answer piece by piece; what the endpoint refuses and can do without is left out."""
        while True:
            payload = self._dialect.payload(self.model_name, request, self._traits)
            asking = _Asking(self._exchange(), self._dialect.reader())
            try:
                yield from self._read(asking, payload, cancel)
            except (NetworkError, Cancelled) as error:
                if asking.has_cost(error):
                    yield self._used(request, asking.reader)
                raise
            finally:
                asking.exchange.leave(complete=asking.reader.complete)
            if asking.refused is None:
                yield from asking.reader.assembly.end()
                yield self._used(request, asking.reader)
                return
            if not learn(asking.refused, payload, self._traits):
                raise self._complaint(asking.refused, payload)

    def _exchange(self) -> Exchange:
        endpoint = self._endpoint
        return Exchange(
            self._connections, endpoint.url, api_key=endpoint.api_key, patience=self._patience
        )

    def _read(
        self, asking: "_Asking", payload: dict[str, Any], cancel: CancelToken
    ) -> Iterator[ChatEvent]:
        reader, route = asking.reader, asking.exchange.route
        headers = httpx.Headers()
        try:
            for piece in asking.exchange.pieces(payload, cancel):
                if isinstance(piece, Answer):
                    asking.refused = piece
                    return
                if isinstance(piece, Opened):
                    headers = piece.headers
                    asking.was_opened = True
                    continue
                yield from reader.feed(piece)
                if reader.complete:
                    return
            yield from reader.body_ended()
        except Garbled as garbled:
            asking.was_no_answer = True
            answer = Answer(httpx.codes.OK, headers, garbled.text, route)
            raise NetworkError(not_a_completion(answer, self._secrets)) from None
        except Reported as reported:
            asking.was_no_answer = True
            status = reported.status or httpx.codes.OK
            raise self._complaint(Answer(status, headers, reported.text, route), payload) from None
        if not reader.complete:
            raise NetworkError(broke_off(route))

    def _complaint(self, answer: Answer, payload: dict[str, Any]) -> NetworkError:
        return complaint(answer, self._secrets, traits=self._traits, had_tools="tools" in payload)

    def _used(self, request: ChatRequest, reader: AnswerReader) -> TokensUsed:
        counted = reader.assembly.provider_count
        if counted is not None:
            return TokensUsed(*counted, exact=True)
        received = self._counter.text(reader.assembly.received_text())
        return TokensUsed(self._counter.request(request), received, exact=False)


class _Asking:
    """One attempt, and what became of it."""

    def __init__(self, exchange: Exchange, reader: AnswerReader) -> None:
        self.exchange = exchange
        self.reader = reader
        self.refused: Answer | None = None
        self.was_opened = False
        self.was_no_answer = False

    def has_cost(self, error: Exception) -> bool:
        """Whether the model was at work when ``error`` ended it.

        A request that was sent and then stopped, or not answered in time, is taken as paid for;
        something else in the place of an answer is not.
        """
        if self.was_no_answer and self.reader.assembly.is_empty:
            return False
        waited = isinstance(error, Cancelled) or self.exchange.timed_out
        return self.was_opened or (waited and self.exchange.route.request_was_sent)
