"""Real servers for the tests: one of each kind per session, emptied before every test."""

from collections.abc import Iterator

import pytest
from journals import Journals, play_journals
from redis import Redis
from servers import BINARIES, BOTH

from meters.server import EmbeddedServer


def emptied(server: EmbeddedServer) -> Iterator[Redis]:
    with server.client() as client:
        client.flushall()
        client.function_flush()
        yield client


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Give the shipped Valkey, durable as in production."""
    with EmbeddedServer(tmp_path_factory.mktemp("valkey")) as running:
        yield running


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Redis]:
    """Give a client of the shipped Valkey, with nothing in it."""
    yield from emptied(server)


@pytest.fixture(scope="session", params=BOTH)
def any_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedServer]:
    """Run the test on the shipped Valkey and, where it is installed, on Redis."""
    folder = tmp_path_factory.mktemp(request.param)
    with EmbeddedServer(folder, binary=BINARIES[request.param]) as running:
        yield running


@pytest.fixture
def any_client(any_server: EmbeddedServer) -> Iterator[Redis]:
    """Give a client of each kind of server in turn, with nothing in it."""
    yield from emptied(any_server)


@pytest.fixture(scope="session")
def journals(server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Journals:
    """Give journals with every kind of entry, played once."""
    with server.client() as client:
        client.flushall()
        return play_journals(client, tmp_path_factory.mktemp("play"))
