"""Tables of a release, and weeks that lie elsewhere."""

from collections.abc import Iterator

import fsspec
import pytest
from object_store import KEYS, s3_server
from released import CELLS, COUNTS, NEXT, WEEK

from resources.tables.released import ReleasedTables
from resources.tables.store import Store


@pytest.fixture
def tables(tmp_path):
    """A public table and two weeks of a released one, not yet exported."""
    made = ReleasedTables(tmp_path / "town")
    made.write_public("cells", CELLS)
    made.write_release_week("density", WEEK, COUNTS, "r1")
    made.write_release_week("density", NEXT, COUNTS.reverse(), "r2")
    return made


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with s3_server() as (address, _):
        yield address


@pytest.fixture(params=["path", "s3"])
def root(request, tmp_path, monkeypatch) -> str:
    """Where weeks are kept."""
    if request.param == "path":
        return str(tmp_path / "elsewhere")
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": request.getfixturevalue("server")}.items():
        monkeypatch.setenv(name, value)
    bucket = f"s3://bucket{abs(hash(str(tmp_path)))}"
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir(bucket)
    return f"{bucket}/weeks"


@pytest.fixture
def store(tmp_path, root) -> Store:
    return Store(tmp_path / "home", "town", None, root)
