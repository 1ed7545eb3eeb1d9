"""Every endpoint, in one table."""

from typing import Final

from runtime.faces.http.call import Endpoint
from runtime.faces.http.content_endpoints import CONTENT
from runtime.faces.http.endpoints import WIRE
from runtime.faces.http.engine_endpoints import ENGINE
from runtime.faces.http.queue_endpoints import QUEUE
from runtime.faces.http.session_endpoints import SESSIONS

ENDPOINTS: Final[tuple[Endpoint, ...]] = (*WIRE, *SESSIONS, *QUEUE, *CONTENT, *ENGINE)
