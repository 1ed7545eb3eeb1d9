"""What can be wrong with a blob and with how it is named."""

from actors.errors.base import UsageError


class BlobNotFoundError(UsageError):
    """The session holds no blob of that digest: it was neither uploaded to it nor named in its log.

    Whether another session holds it is not told.
    """

    code = "BLOB_NOT_FOUND"
    status_hint = 404

    def __init__(self, session_id: str, digest: str) -> None:
        super().__init__(session_id, digest)
        self.session_id, self.digest = session_id, digest

    def __str__(self) -> str:
        return (
            f"session {self.session_id!r} holds no blob {self.digest[:80]!r}: "
            "upload it with session.attach(...) first"
        )


class BlobTooLargeError(UsageError):
    """The content is larger than a blob may be; nothing of it was kept."""

    code = "BLOB_TOO_LARGE"
    status_hint = 413

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(limit_bytes)
        self.limit_bytes = limit_bytes

    def __str__(self) -> str:
        return f"a blob has at most {self.limit_bytes} bytes: open_engine(limits=Limits(blob_bytes=...)) sets it"


class AttachmentError(UsageError):
    """An attachment is described by something that cannot be meant."""

    code = "ATTACHMENT_INVALID"

    def __init__(self, field: str, why: str) -> None:
        super().__init__(field, why)
        self.field, self.why = field, why

    def __str__(self) -> str:
        return f"attach(..., {self.field}=...): {self.why}"
