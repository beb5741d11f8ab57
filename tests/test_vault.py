"""The key file: who may read it, when one is made, how keys change, and what a seal withstands."""

import json
import os
import pickle
import stat
import traceback
from pathlib import Path

import pytest
import rebuild

from progressive.draws import key_file, must_hit, shoe, vault
from progressive.draws.secret import DrawSecret
from progressive.draws.vault import Vault

SECRET = DrawSecret(rebuild.SECRET, rebuild.SALT)
CONTEXT = must_hit.seal_context(must_hit.Cycle("royal", "must_hit", 7))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "draw.keys"


@pytest.fixture
def made(path: Path) -> Vault:
    return vault.make(path, cycle_open=False)


def test_a_sealed_secret_opens_again(made: Vault, path: Path) -> None:
    sealed = made.seal(SECRET, CONTEXT)
    assert made.open_(sealed, CONTEXT) == SECRET
    assert vault.load(path).open_(sealed, CONTEXT) == SECRET
    assert vault.sealed_under(sealed) == made.current


def test_a_seal_shows_neither_secret_nor_salt_and_is_never_twice_the_same(made: Vault) -> None:
    sealed = made.seal(SECRET, CONTEXT)
    assert rebuild.SECRET.hex() not in sealed
    assert rebuild.SALT.hex() not in sealed
    assert made.seal(SECRET, CONTEXT) != sealed


def test_a_seal_opens_in_its_own_place_only(made: Vault) -> None:
    sealed = made.seal(SECRET, CONTEXT)
    others = (
        must_hit.seal_context(must_hit.Cycle("royal", "must_hit", 8)),
        must_hit.seal_context(must_hit.Cycle("harbor", "must_hit", 7)),
        shoe.seal_context(shoe.ShoeName("royal", "must_hit", 7, 8)),
        b"",
    )
    for other in others:
        with pytest.raises(vault.SealBrokenError, match="another cycle or shoe"):
            made.open_(sealed, other)


def test_a_seal_with_any_digit_changed_does_not_open(made: Vault) -> None:
    sealed = made.seal(SECRET, CONTEXT)
    for place in range(len(sealed)):
        changed = sealed[:place] + ("0" if sealed[place] != "0" else "1") + sealed[place + 1 :]
        with pytest.raises((vault.SealBrokenError, vault.KeyUnknownError)):
            made.open_(changed, CONTEXT)
    for cut in ("", sealed[:-1], sealed + "0", sealed.upper()):
        with pytest.raises(vault.SealBrokenError):
            made.open_(cut, CONTEXT)


def test_the_key_file_is_its_owners_alone(made: Vault, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [found.name for found in path.parent.iterdir()] == [path.name]
    assert made.key_ids == (made.current,)


def test_a_careless_umask_does_not_open_the_key_file(path: Path) -> None:
    before = os.umask(0)
    try:
        vault.make(path, cycle_open=False)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o400, 0o700])
@pytest.mark.usefixtures("made")
def test_a_key_file_with_another_mode_is_refused(path: Path, mode: int) -> None:
    path.chmod(mode)
    with pytest.raises(key_file.KeyFileUnsafeError, match="0600"):
        vault.load(path)


@pytest.mark.usefixtures("made")
def test_a_link_a_folder_or_a_pipe_in_place_of_the_key_file_is_refused(
    path: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(key_file.KeyFileUnsafeError):
        vault.load(link)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for other in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(key_file.KeyFileUnsafeError):
            vault.load(other)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.usefixtures("made")
def test_a_key_file_of_another_user_is_refused(path: Path) -> None:
    os.chown(path, 12_345, -1)
    with pytest.raises(key_file.KeyFileUnsafeError, match="own"):
        vault.load(path)


def test_a_first_start_makes_the_key_file_and_the_next_one_reads_it(path: Path) -> None:
    first = vault.start(path, cycle_open=False, in_use=())
    assert vault.start(path, cycle_open=True, in_use=(first.current,)).current == first.current


def test_no_key_is_made_while_a_cycle_is_open(path: Path) -> None:
    with pytest.raises(vault.KeyInUseError, match="cycle is open"):
        vault.start(path, cycle_open=True, in_use=())
    with pytest.raises(vault.KeyInUseError, match="cycle is open"):
        vault.make(path, cycle_open=True)
    assert not path.exists()


def test_a_missing_key_file_is_refused_when_secrets_are_sealed_under_it(path: Path) -> None:
    with pytest.raises(key_file.KeyFileMissingError, match="put the key file back"):
        vault.start(path, cycle_open=False, in_use=("00" * 8,))
    assert not path.exists()


def test_a_different_key_file_is_refused(made: Vault, path: Path, tmp_path: Path) -> None:
    other = vault.make(tmp_path / "other.keys", cycle_open=False)
    with pytest.raises(vault.KeyUnknownError, match=other.current):
        vault.start(path, cycle_open=True, in_use=(other.current,))
    with pytest.raises(vault.KeyUnknownError, match=made.current):
        other.open_(made.seal(SECRET, CONTEXT), CONTEXT)


def test_a_key_file_is_never_written_over(made: Vault, path: Path) -> None:
    with pytest.raises(key_file.KeyFileExistsError):
        vault.make(path, cycle_open=False)
    assert vault.load(path).current == made.current
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_rotation_seals_under_the_new_key_and_still_opens_what_the_old_one_sealed(
    made: Vault, path: Path
) -> None:
    old = made.seal(SECRET, CONTEXT)
    rotated = made.rotate()
    assert rotated.current != made.current
    assert rotated.key_ids == (rotated.current, made.current)
    assert vault.sealed_under(rotated.seal(SECRET, CONTEXT)) == rotated.current
    assert vault.load(path).open_(old, CONTEXT) == SECRET
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_old_key_is_dropped_once_nothing_is_sealed_under_it(made: Vault, path: Path) -> None:
    old = made.seal(SECRET, CONTEXT)
    rotated = made.rotate()
    for name, in_use in ((made.current, {made.current}), (rotated.current, set[str]())):
        with pytest.raises(vault.KeyInUseError):
            rotated.retire(name, in_use)
    retired = rotated.retire(made.current, {rotated.current})
    assert retired.key_ids == (rotated.current,)
    with pytest.raises(vault.KeyUnknownError):
        vault.load(path).open_(old, CONTEXT)
    with pytest.raises(vault.KeyUnknownError):
        retired.retire(made.current, ())


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-10],
        lambda text: text.replace('"keys"', '"kees"'),
        lambda _: "",
        lambda _: '{"current":"x","keys":{}}',
        lambda text: text.replace(json.loads(text)["current"], "0" * 16),
        lambda text: _other_key(text, "11" * 32),
        lambda text: _other_key(text, "zz"),
    ],
)
@pytest.mark.usefixtures("made")
def test_a_damaged_key_file_is_refused_and_not_quoted(path: Path, damage: object) -> None:
    assert callable(damage)
    text = path.read_text(encoding="utf-8")
    (key,) = json.loads(text)["keys"].values()
    path.write_text(damage(text), encoding="utf-8")
    with pytest.raises(key_file.VaultError) as caught:
        vault.load(path)
    shown = "".join(traceback.format_exception(caught.value))
    assert key not in shown
    assert bytes.fromhex(key)[:8].hex() not in shown


def _other_key(text: str, key: str) -> str:
    (old,) = json.loads(text)["keys"].values()
    return text.replace(old, key)


def test_neither_vault_nor_key_file_shows_a_key(made: Vault, path: Path) -> None:
    (key,) = json.loads(path.read_text(encoding="utf-8"))["keys"].values()
    content = key_file.read_key_file(path)
    for shown in (repr(made), str(made), repr(content), str(content), f"{[content]}"):
        assert key not in shown
        assert made.current in shown
    with pytest.raises(TypeError):
        pickle.dumps(made)


def test_a_key_file_left_half_written_by_a_killed_process_is_no_obstacle(
    made: Vault, path: Path
) -> None:
    left = path.with_name(f".{path.name}.{os.getpid()}.new")
    left.write_text("half", encoding="utf-8")
    rotated = made.rotate()
    assert vault.load(path).key_ids == rotated.key_ids
    assert not left.exists()
