"""The witness: cosigns a log's checkpoint only if it extends the last one (C2SP tlog-witness)."""

import logging
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path

from flask import Flask, Response, request

from progressive.audit import checkpoint, merkle, note
from progressive.audit.add_checkpoint import PATH, REQUEST_BYTES_MAX, SIZE_TYPE, AddCheckpoint
from progressive.audit.checkpoint import Checkpoint, CheckpointError, Cosigner
from progressive.audit.merkle import ProofError
from progressive.audit.note import MalformedNote, NoteError, Verifier
from progressive.audit.witness_record import WitnessRecord

log = logging.getLogger(__name__)


class Refusal(Exception):  # noqa: N818 - it is an answer, not a fault
    """A request that is not cosigned, as the specification answers it."""

    def __init__(self, status: HTTPStatus, said: str, content_type: str = "text/plain") -> None:
        super().__init__(said)
        self.status = status
        self.content_type = content_type


class Witness:
    """Decides on one checkpoint after the other; never two roots of one size."""

    def __init__(self, record: WitnessRecord, cosigner: Cosigner, logs: Iterable[Verifier]) -> None:
        self._record = record
        self._cosigner = cosigner
        self._logs = {key.name: key for key in logs}

    def add_checkpoint(self, body: bytes) -> str:
        """Cosign the checkpoint of a request, or refuse it."""
        try:
            asked = AddCheckpoint.parse(body)
            origin = Checkpoint.parse(note.parse(asked.checkpoint).text).origin
        except (CheckpointError, MalformedNote) as error:
            raise Refusal(HTTPStatus.BAD_REQUEST, str(error)) from None
        if origin not in self._logs:
            raise Refusal(HTTPStatus.NOT_FOUND, "this witness does not know that log")
        try:
            new, opened = checkpoint.verify(asked.checkpoint, self._logs[origin])
        except NoteError as error:
            raise Refusal(HTTPStatus.FORBIDDEN, str(error)) from None
        if asked.old > new.size:
            raise Refusal(HTTPStatus.BAD_REQUEST, "the old size is above the checkpoint's")
        with self._record.turn():
            self._insist_on_growth(asked, new, body)
            self._record.keep(origin, bytes(note.Note(opened.text, opened.signatures)))
            return str(self._cosigner.sign(opened.text))

    def _insist_on_growth(self, asked: AddCheckpoint, new: Checkpoint, body: bytes) -> None:
        last = self._record.last(new.origin)
        if asked.old != last.size:
            raise Refusal(HTTPStatus.CONFLICT, f"{last.size}\n", SIZE_TYPE)
        two_roots = new.size == last.size and new.root != last.root
        try:
            merkle.check_consistency(last.size, new.size, last.root, new.root, asked.proof)
        except ProofError as error:
            log.warning("%s does not extend what it signed at %d: %s", new.origin, last.size, error)
            self._record.keep_evidence("two-roots" if two_roots else "bad-proof", body)
            if two_roots:
                raise Refusal(HTTPStatus.CONFLICT, f"{last.size}\n", SIZE_TYPE) from None
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None


def create_app(witness: Witness) -> Flask:
    """Serve a witness over HTTP."""
    app = Flask("progressive-witness", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = REQUEST_BYTES_MAX

    @app.post(PATH)
    def add_checkpoint() -> Response:
        return Response(witness.add_checkpoint(request.get_data()), mimetype="text/plain")

    @app.errorhandler(Refusal)
    def refuse(refusal: Refusal) -> Response:
        log.info("refused with %d: %s", refusal.status, str(refusal).strip())
        said = str(refusal) if str(refusal).endswith("\n") else f"{refusal}\n"
        return Response(said, refusal.status, content_type=refusal.content_type)

    return app


def load_app(folder: Path, name: str, logs: Iterable[Verifier]) -> Flask:
    """Open a witness's folder and serve it."""
    record = WitnessRecord(folder)
    return create_app(Witness(record, record.prepare(name), logs))
