"""What the HTTP face bounds.

Source: H-10, H-13, H-49, H-52, N-14, N-18.
"""

import attrs

from actors.rules.outbound import CAPACITY
from runtime.faces.http.patterns import BODY_LIMIT
from runtime.faces.wire.outbox import MAX_BYTES, PATIENCE_S


@attrs.frozen(kw_only=True)
class HttpLimits:
    """The bounds of one face.

    Units: names end in ``_s`` for seconds and ``_bytes`` for bytes; the others are counts.
    """

    body_bytes: int = BODY_LIMIT
    """The body of a request."""
    body_s: float = 30.0
    """How long a body may take to arrive; of an upload, how long it may bring nothing."""
    upload_s: float = 900.0
    """How long an upload may take; its size is bounded by ``Limits.blob_bytes``."""
    streams: int = 1000
    """Event streams of one client at the same time."""
    spawns: int = 1000
    """Sessions that one client may create, fork or import in a minute (K-6)."""
    frames: int = CAPACITY
    """Frames that wait for a slow client."""
    frame_bytes: int = MAX_BYTES
    """What these may take together."""
    patience_s: float = PATIENCE_S
    """How long a client may read nothing while there is no room for more."""
    heartbeat_s: float = 5.0
    """Silence of a session before a heartbeat."""
    ping_s: float = 30.0
    """Between two comments that keep a connection open."""
    watchdog_s: float = 90.0
    """How long a client may read nothing of what is sent to it."""
    clients: int = 4096
    """Clients that are told apart; above it the one that was quiet for longest is forgotten."""
