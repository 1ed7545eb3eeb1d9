"""From a read file to a log with its fold.

Source: K-30, K-34.
"""

from actors.log.log import Log
from actors.log.vocabulary import Vocabulary
from runtime.formats.readlog import ReadLog


def vocabulary_of(read: ReadLog) -> Vocabulary:
    """Return the core words and those that the file's own reader knows."""
    return Vocabulary(known=read.words)


def load_log(read: ReadLog) -> Log:
    """Fold the events of a file.

    Raises:
        SurfaceOpError: an operation has no meaning on the surface it finds (a forged range).
        InboxSpliceError: a queue record does not fit.
    """
    return Log.load(read.events, vocabulary_of(read))
