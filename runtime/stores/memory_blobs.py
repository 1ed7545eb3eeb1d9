"""The blobs of the memory store, and how many hold each.

Source: K-5.
"""

from collections import Counter
from collections.abc import Iterable

from actors.log.blobs import Digest, digest_of, named_blobs
from actors.log.events import Event
from actors.ports.blobs import Blob


class Holdings:
    """What one session holds: its uploads, and what its own events name in the order of their seqs."""

    def __init__(self) -> None:
        self.uploads: dict[Digest, int] = {}
        """When each was made, in milliseconds."""
        self.named: list[tuple[int, Digest]] = []

    def names(self, digest: Digest, below: int) -> bool:
        """Return whether an own event below the seq ``below`` names it."""
        return any(seq < below and found == digest for seq, found in self.named)

    def drop_uploads(self, before_ms: int) -> list[Digest]:
        """Forget the uploads made before then; return them."""
        old = [digest for digest, made_ms in self.uploads.items() if made_ms < before_ms]
        for digest in old:
            del self.uploads[digest]
        return old

    def drop_from(self, seq: int) -> list[Digest]:
        """Forget what the events from ``seq`` on name; return it."""
        kept = [pair for pair in self.named if pair[0] < seq]
        dropped = [digest for _, digest in self.named[len(kept) :]]
        self.named = kept
        return dropped


class MemoryBlobs:
    """Contents by their digest, each for as long as somebody holds it."""

    def __init__(self) -> None:
        self._contents: dict[Digest, bytes] = {}
        self._holders: Counter[Digest] = Counter()

    def content(self, digest: Digest) -> bytes:
        """Return the content of a blob that somebody holds."""
        return self._contents[digest]

    def upload(self, to: Holdings, content: bytes, now_ms: int) -> Blob:
        """Keep the content, unless it is there, and let a session hold it."""
        blob = Blob(digest_of(content), len(content))
        self._contents.setdefault(blob.digest, content)
        if not any(found == blob.digest for _, found in to.named):
            self._holders[blob.digest] += blob.digest not in to.uploads
            to.uploads[blob.digest] = now_ms
        return blob

    def name(self, to: Holdings, events: Iterable[Event]) -> None:
        """Let a session hold what its events name, which it could read; those are uploads no longer."""
        for event in events:
            for digest in named_blobs(event.body):
                to.named.append((event.seq, digest))
                self._holders[digest] += 1
                if to.uploads.pop(digest, None) is not None:
                    self._holders[digest] -= 1

    def release(self, digests: Iterable[Digest]) -> None:
        """Take one holder from each; what nobody holds any more is gone."""
        for digest in digests:
            self._holders[digest] -= 1
            if not self._holders[digest]:
                del self._holders[digest], self._contents[digest]
