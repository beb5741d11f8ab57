"""The signature of what is installed: a hash of every file of the product, and one of them all."""

import hashlib
import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

import msgspec

PRODUCT = "linked-progressive"
PACKAGES = ("links", "meters", "progressive")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed here; two machines with the same software have the same `overall`."""

    product: str
    version: str
    overall: str  # SHA-256 of the lines `hash, two spaces, name`, in the order of names
    files: dict[str, str]
    python: str
    dependencies: dict[str, str]
    configuration: str | None = None  # SHA-256 of the site file


def take_signature(site: Path | None = None) -> Signature:
    """Hash every file of the product, and the site file if there is one."""
    files = {name: _hash(path) for name, path in sorted(_files())}
    return Signature(
        product=PRODUCT,
        version=version(PRODUCT),
        overall=overall_hash(files),
        files=files,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        dependencies=dict(sorted(_dependencies())),
        configuration=_hash(site) if site else None,
    )


def overall_hash(files: dict[str, str]) -> str:
    """Hash the list of files as `sha256sum` would write it."""
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def differences(earlier: Signature, now: Signature) -> Iterator[str]:
    """Name everything in which two signatures differ."""
    for name in ("version", "python", "configuration"):
        before, after = getattr(earlier, name), getattr(now, name)
        if before != after:
            yield f"{name}: was {before}, is {after}"
    for kind, old, new in (
        ("file", earlier.files, now.files),
        ("dependency", earlier.dependencies, now.dependencies),
    ):
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                before, after = old.get(name, "not there"), new.get(name, "not there")
                yield f"{kind} {name}: was {before}, is {after}"
    if earlier.overall != overall_hash(earlier.files):
        yield "the earlier signature's overall hash is not that of its files: it was changed"


def _files() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            root = Path(place)
            for path in root.rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield f"{package}/{path.relative_to(root).as_posix()}", path


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _dependencies() -> Iterator[tuple[str, str]]:
    """Give what the product needs, and what that needs in turn, as far as it is installed."""
    seen: set[str] = set()
    waiting = _required(PRODUCT)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            yield name, version(name)
            waiting += _required(name)
        except PackageNotFoundError:
            continue  # for another system, or another version of Python


def _required(name: str) -> list[str]:
    found = []
    for text in requires(name) or ():
        wanted, _, condition = text.partition(";")
        match = _NAME.match(wanted)
        if match and "extra" not in condition:
            found.append(match[0].lower().replace("_", "-"))
    return found
