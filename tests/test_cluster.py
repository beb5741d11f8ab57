"""Links on a real cluster: each lives on one shard, and many spread over it."""

from pathlib import Path

from floor import small_link
from servers import running_cluster

from meters.calls import Message
from meters.connect import connect
from meters.functions import ensure_loaded
from meters.link import Meters
from meters.replay import audit


def test_links_of_a_cluster_are_played_and_audited(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as nodes:
        port = next(iter(nodes))
        connection = connect(f"cluster://127.0.0.1:{port}", allow_unsafe=True)
        for _, primary in connection.primaries():
            ensure_loaded(primary)
        for name in ("royal", "harbor", "north", "south"):
            definition = small_link(name, levels=small_link().levels[:3])
            meters = Meters(connection.client, name)
            meters.run(meters.calls.open_link(definition, "boss", []))
            said = Message(table="T1", device="hub", epoch=1, sequence=1, round=1, seats=[1])
            meters.report([said])
            meters.run_many([meters.calls.lock("T1", 1, "ann", [1])])
            assert meters.snapshot().tables["T1"].phase == "locked"
            assert audit(meters).is_exact
        homes = {client.dbsize() > 0 for client in nodes.values()}
        assert homes == {True}  # four links leave no node of three without one
