"""The generator's known-answer test, run in every process before its first draw."""

from typing import Final

from progressive.draws.drbg import (
    ENTROPY_BYTES_MIN,
    NONCE_BYTES_MIN,
    REQUEST_BYTES_MAX,
    DrbgError,
    HmacDrbg,
    InputRefusedError,
    RequestRefusedError,
)

# NIST CAVP, HMAC_DRBG SHA-256 with reseed, personalization and additional inputs, its first case.
_ENTROPY: Final = "cdb0d9117cc6dbc9ef9dcb06a97579841d72dc18b2d46a1cb61e314012bdf416"
_NONCE: Final = "d0c0d01d156016d0eb6b7e9c7c3c8da8"
_PERSONALIZATION: Final = "6f0fb9eab3f9ea7ab0a719bfa879bf0aaed683307fda0c6d73ce018b6e34faaa"
_RESEED: Final = "8ec6f7d5a8e2e88f43986f70b86e050d07c84b931bcf18e601c5a3eee3064c82"
_ADDITIONAL: Final = (
    "1ab4ca9014fa98a55938316de8ba5a68c629b0741bdd058c4d70c91cda5099b3",
    "16e2d0721b58d839a122852abd3bf2c942a31c84d82fca74211871880d7162ff",
    "53686f042a7b087d5d2eca0d2a96de131f275ed7151189f7ca52deaa78b79fb2",
)
_ANSWER: Final = (
    "dda04a2ca7b8147af1548f5d086591ca4fd951a345ce52b3cd49d47e84aa31a1"
    "83e31fbc42a1ff1d95afec7143c8008c97bc2a9c091df0a763848391f68cb4a3"
    "66ad89857ac725a53b303ddea767be8dc5f605b1b95f6d24c9f06be65a973a08"
    "9320b3cc42569dcfd4b92b62a993785b0301b3fc452445656fce22664827b88f"
)


class HealthTestError(DrbgError):
    """The generator does not give what it must: nothing is drawn in this process."""


def health_test() -> None:
    """Instantiate, reseed and generate a known answer, and see bad requests refused."""
    reseeding, *generating = (bytes.fromhex(text) for text in _ADDITIONAL)
    drbg = HmacDrbg(*map(bytes.fromhex, (_ENTROPY, _NONCE, _PERSONALIZATION)))
    drbg.reseed(bytes.fromhex(_RESEED), reseeding)
    answer = [drbg.generate(len(_ANSWER) // 2, additional) for additional in generating][-1]
    if answer.hex() != _ANSWER:
        raise HealthTestError(
            "the generator failed its known-answer test; no draw is made. "
            "Compare the product's signature with the approved one, and the machine with another"
        )
    _must_refuse_bad_requests(drbg)


def _must_refuse_bad_requests(drbg: HmacDrbg) -> None:
    try:
        HmacDrbg(bytes(ENTROPY_BYTES_MIN - 1), bytes(NONCE_BYTES_MIN))
    except InputRefusedError:
        try:
            drbg.generate(REQUEST_BYTES_MAX + 1)
        except RequestRefusedError:
            return
    raise HealthTestError("the generator took a request that it must refuse; no draw is made")
