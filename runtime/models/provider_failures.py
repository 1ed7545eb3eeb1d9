"""Failures of a provider as final values: a bucket that decides about a retry, a stable code, the provider's words. Pure.

Source: L-90, L-91, K-10.
"""

from collections.abc import Mapping
from typing import Final

import attrs

from actors.log.foreign import mend_text
from actors.ports.model import Failed, RetryBucket
from actors.rules.retry import classify
from runtime.models.provider_content import mapping, string
from runtime.models.provider_headers import amount, wait_s

MALFORMED: Final = "LLM_STREAM_MALFORMED"
CONNECTION: Final = "LLM_CONNECTION_FAILED"
FILTERED: Final = "LLM_CONTENT_FILTERED"
LONGEST_MESSAGE: Final = 2_000
"""Characters of a provider's message that are kept."""

_BEGAN_WELL: Final = 200
_AGAIN: Final = frozenset((408, 409, 425, 429))
_SERVER: Final = 500
_RATE_LIMITED: Final = 429
_OVERLOADED: Final = 529
_MODEL_UNKNOWN: Final = 404
_TOO_LARGE: Final = 413
_TIMEOUTS: Final = frozenset((408, 504))
_CODES: Final[dict[RetryBucket, str]] = {
    "overflow": "LLM_CONTEXT_OVERFLOW",
    "quota": "LLM_QUOTA_EXCEEDED",
    "auth": "LLM_NOT_AUTHORIZED",
    "non-retryable": "LLM_REQUEST_REFUSED",
}
_KINDS: Final[dict[str, int]] = {
    "overloaded_error": _OVERLOADED,
    "overloaded": _OVERLOADED,
    "rate_limit_error": _RATE_LIMITED,
    "rate_limit_exceeded": _RATE_LIMITED,
    "api_error": _SERVER,
    "server_error": _SERVER,
    "timeout_error": 504,
    "authentication_error": 401,
    "permission_error": 403,
    "billing_error": 402,
    "not_found_error": _MODEL_UNKNOWN,
    "request_too_large": _TOO_LARGE,
    "invalid_request_error": 400,
}
"""Providers name the failures that come inside a stream, whose status says that all was well."""


@attrs.frozen(kw_only=True)
class ProviderFault:
    """What a provider, or the way to it, said.

    ``status`` is None when there was no answer, and 200 for a failure inside a stream; ``kind`` is the
    provider's own word for it.
    """

    status: int | None
    kind: str = ""
    message: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def effective_status(self) -> int | None:
        """The status that says what happened."""
        refused = self.status is not None and self.status >= 400  # noqa: PLR2004 - HTTP's own border
        return self.status if refused else _KINDS.get(self.kind)


def failed(fault: ProviderFault) -> Failed:
    """Return the failure as the last part of a stream."""
    status = fault.effective_status
    bucket = bucket_of(status, fault.kind, fault.message)
    said = " ".join(str(word) for word in (fault.status, fault.kind, fault.message) if word)
    return Failed(
        bucket=bucket,
        code=_code(bucket, status),
        message=mend_text(said)[:LONGEST_MESSAGE],
        retry_after_s=retry_after_s(fault.headers) if bucket == "transient" else None,
    )


def refused(status: int, body: object, text: str, headers: Mapping[str, str]) -> Failed:
    """Return the failure that an HTTP answer says; ``text`` stands in where its body has no words."""
    return failed(attrs.evolve(_said(body, text), status=status, headers=headers))


def broken_off(body: object) -> Failed:
    """Return the failure that a frame says in the middle of an answer that had begun well."""
    return failed(_said(body, "the provider broke the reply off"))


def _said(body: object, text: str) -> ProviderFault:
    """Read an error in any form that providers give it; a number as its code is a status."""
    error = mapping(body).get("error") or body
    said = mapping(error)
    code = said.get("code")
    return ProviderFault(
        status=code if isinstance(code, int) and not isinstance(code, bool) else _BEGAN_WELL,
        kind=string(code) or string(said.get("type")),
        message=string(said.get("message")) or (error if isinstance(error, str) else text),
    )


def unreachable(error: Exception) -> Failed:
    """Return the failure of a connection that could not be made, or was lost."""
    text = f"connection error: {error.__cause__ or error}"
    return failed(ProviderFault(status=None, kind=type(error).__name__, message=text))


def malformed(why: str) -> Failed:
    """Return the failure of a stream whose frames cannot be read; another attempt may bring better ones."""
    text = f"the provider sent what cannot be read: {why}"
    return Failed(bucket="transient", code=MALFORMED, message=mend_text(text)[:LONGEST_MESSAGE])


def held_back(reason: str) -> Failed:
    """Return the failure of a reply that the provider would not give, or would not finish giving."""
    text = f"the provider held the reply back: {reason}"
    return Failed(bucket="non-retryable", code=FILTERED, message=text)


def bucket_of(status: int | None, kind: str, message: str) -> RetryBucket:
    """Return the bucket: the status decides where it can, the wording where it cannot (L-91).

    A number in the text of a refusal ("at most 500 tools") never makes it worth another attempt.
    """
    worded = classify(message, kind)
    if status is None:
        return worded if worded != "non-retryable" else "transient"
    if worded == "quota" and status in {400, 402, 403, _RATE_LIMITED}:
        return "quota"
    if status == _TOO_LARGE or (worded == "overflow" and status in {400, 422}):
        return "overflow"
    return _by_status(status)


def _by_status(status: int) -> RetryBucket:
    if status in {401, 403}:
        return "auth"
    if status == 402:  # noqa: PLR2004 - payment required
        return "quota"
    return "transient" if status in _AGAIN or status >= _SERVER else "non-retryable"


def _code(bucket: RetryBucket, status: int | None) -> str:
    if status == _MODEL_UNKNOWN:
        return "LLM_MODEL_UNKNOWN"
    return _CODES.get(bucket) or _transient_code(status)


def _transient_code(status: int | None) -> str:
    if status is None:
        return CONNECTION
    if status in _TIMEOUTS:
        return "LLM_TIMEOUT"
    named = {_RATE_LIMITED: "LLM_RATE_LIMITED", _OVERLOADED: "LLM_OVERLOADED"}
    return named.get(status, "LLM_UNAVAILABLE")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return what ``retry-after-ms`` or ``Retry-After`` asks for; None when that is nothing usable.

    A date is read against the ``Date`` of the same answer: no clock is needed, and none can be wrong.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    milliseconds = amount(lower.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = lower.get("retry-after", "")
    seconds = amount(asked)
    return seconds if seconds is not None else wait_s(asked, lower.get("date", ""))
