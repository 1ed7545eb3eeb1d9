"""Which event types a log may hold.

Source: S-10, S-55, D-20, D-21, D-78, D-140, K-34.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import Final, TypeAlias

from actors.errors.log import (
    CoreTypeForbiddenError,
    EventDataError,
    EventTypeConflictError,
    UnknownEventTypeError,
    VocabularySealedError,
)
from actors.log.codec import text_fault
from actors.log.core_words import CORE_WORDS, SURFACE_WORDS, Category, Word

Disposer: TypeAlias = Callable[[], None]

_CORE: Final[Mapping[str, Word]] = MappingProxyType({word.type: word for word in CORE_WORDS})


class Vocabulary:
    """The core words and what extensions or a reader of foreign logs added to them.

    Args:
        known: words that another system wrote and that are read as log-only; ``hook/*`` stands for
            every word that starts with ``hook/`` (K-34).
        sealed: whether :meth:`register` is refused.
    """

    def __init__(self, known: Iterable[str] = (), *, sealed: bool = False) -> None:
        foreign = [_foreign(word) for word in known]
        self._words: dict[str, Word] = {word.type: word for word in (*foreign, *CORE_WORDS)}
        self._families = frozenset(word.type[:-1] for word in foreign if word.type.endswith("/*"))
        self._sealed = sealed
        self._fingerprint: str | None = None

    def register(
        self,
        word: str,
        *,
        category: Category = "log-only",
        owner: str,
        carrier: bool = False,
        projection: bool = False,
    ) -> Disposer:
        """Add a word and return what takes it away again; calling that twice is harmless.

        Raises:
            CoreTypeForbiddenError: it is one of the engine's own words.
            EventTypeConflictError: somebody registered it before; the first one keeps it.
            VocabularySealedError: this vocabulary is shared by everybody.
            EventDataError: it is empty, or cannot be written.
        """
        if self._sealed:
            raise VocabularySealedError(word)
        why = text_fault(word) if word else "an event type needs a name"
        if why is not None:
            raise EventDataError("type", why)
        if word in _CORE:
            raise CoreTypeForbiddenError(word)
        if word in self._words:
            raise EventTypeConflictError(word, self._words[word].owner)
        added = Word(word, category, owner, "extension", carrier, projection)
        self._words[word] = added
        self._fingerprint = None

        def dispose() -> None:
            if self._words.get(word) is added:
                del self._words[word]
                self._fingerprint = None

        return dispose

    def __iter__(self) -> Iterator[Word]:
        return iter(tuple(self._words.values()))

    def knows(self, word: str) -> bool:
        """Return whether the word may be appended."""
        return self._find(word) is not None

    def check(self, word: str) -> Word:
        """Return what is known of the word.

        Raises:
            UnknownEventTypeError: it is not in the vocabulary.
        """
        found = self._find(word)
        if found is None:
            raise UnknownEventTypeError(word)
        return found

    def category(self, word: str) -> Category:
        """Return the word's category.

        Raises:
            UnknownEventTypeError: it is not in the vocabulary.
        """
        return self.check(word).category

    def is_surface(self, word: str) -> bool:
        """Return whether events of this word are nodes; the list is closed (D-20)."""
        return word in SURFACE_WORDS

    def is_carrier(self, word: str) -> bool:
        """Return whether events of this word may hide nodes (S-92)."""
        found = self._words.get(word)
        return found is not None and found.carrier

    def is_projection(self, word: str) -> bool:
        """Return whether events of this word change the content of messages (D-75)."""
        found = self._words.get(word)
        return found is not None and found.projection

    def fingerprint(self) -> str:
        """Return a digest of all that a fold asks a vocabulary: equal ones read every log alike."""
        if self._fingerprint is None:
            words = sorted(
                (word.type, word.category, word.tier, word.carrier, word.projection)
                for word in self._words.values()
            )
            told = repr((words, sorted(self._families))).encode()
            self._fingerprint = blake2b(told, digest_size=16).hexdigest()
        return self._fingerprint

    def _find(self, word: str) -> Word | None:
        found = self._words.get(word)
        if found is None and self._families and word[: word.find("/") + 1] in self._families:
            return _foreign(word)
        return found


def _foreign(word: str) -> Word:
    return Word(word, owner="foreign", tier="foreign")


CORE: Final = Vocabulary(sealed=True)
"""The engine's own words alone."""
