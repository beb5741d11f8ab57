"""Signatures of devices: on requests with the device's own key, and on their answers."""

import hmac
from typing import Final

REQUEST: Final = b"progressive-request/1\n"
ANSWER: Final = b"progressive-answer/1\n"


def sign_request(key: bytes, method: str, path: str, time_ms: int, body: bytes) -> str:
    """Sign method, path (with its query), time and body; the signature is lower-case hex."""
    head = f"{method}\n{path}\n{time_ms}\n".encode()
    return hmac.digest(key, REQUEST + head + body, "sha256").hex()


def sign_answer(key: bytes, request_signature: str, status: int, body: bytes) -> str:
    """Sign an answer to the very request that had this signature."""
    head = f"{request_signature}\n{status}\n".encode()
    return hmac.digest(key, ANSWER + head + body, "sha256").hex()


def same(ours: str, theirs: str) -> bool:
    """Compare signatures without telling where they differ."""
    return hmac.compare_digest(ours.encode(), theirs.encode())
