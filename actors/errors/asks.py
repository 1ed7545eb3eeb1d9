"""What an answer to an ask can be refused for."""

from actors.errors.base import UsageError


class AskNotFoundError(UsageError):
    """No ask of that id was raised since the engine opened.

    Source: scenario S-01.
    """

    code = "ASK_NOT_FOUND"
    status_hint = 404

    def __init__(self, ask_id: str) -> None:
        super().__init__(ask_id)
        self.ask_id = ask_id

    def __str__(self) -> str:
        return f"no ask {self.ask_id!r}: engine.asks() shows the open ones"


class AnswerWordError(UsageError):
    """The answer is not one of the closed set.

    Source: A-1.
    """

    code = "ASK_ANSWER_INVALID"

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word

    def __str__(self) -> str:
        return f"{self.word!r} is no answer: use approve, reject, cancel or always"
