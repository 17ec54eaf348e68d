"""A disk that fills up: a clear message, the stored week stays, and noise is not drawn twice for one charge."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from engines import needs_java

from density_assets.errors import BadInput
from resources.faults import in_clear_words

ROOT = Path(__file__).parents[2]
MAY_MOUNT = shutil.which("unshare") and subprocess.run(["unshare", "-rm", "true"], check=False).returncode == 0
WORDS = "is full: free some space and start again"


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory):
    """What happened on a disk of 16 MB that nobody else sees."""
    if not MAY_MOUNT:
        pytest.skip("needs a mount namespace (unshare -rm), which this machine does not permit")
    place = tmp_path_factory.mktemp("small") / "disk"
    place.mkdir()
    script = ROOT / "tests/support/full_disk.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = ["unshare", "-rm", sys.executable, str(script), str(place)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_week_that_does_not_fit_leaves_the_old_one_and_fits_later(small_disk):
    found = small_disk["ingest"]
    assert WORDS in found["refused"]
    assert found["kept"]
    assert found["leftovers"] == []
    assert found["later"] == ""
    assert found["rows"] == 5000 * 20


@needs_java
def test_a_week_that_does_not_fit_where_spark_writes_leaves_the_old_one_and_fits_later(small_disk):
    found = small_disk["spark"]
    assert "visits.sql must run to its end, Spark gave" in found["refused"]
    assert "look whether it is there and has memory and room" in found["refused"]
    assert found["kept"]
    assert found["leftovers"] == []
    assert found["later"] == ""
    assert found["rows"] == 20_000
    assert found["folders"] == 2  # the week and what names it


def test_a_released_week_that_does_not_fit_leaves_tables_and_database_and_fits_later(small_disk):
    endings = [week["refused"] for week in small_disk["released"]]
    assert "" in endings
    assert any(WORDS in ending for ending in endings)
    for week in small_disk["released"]:
        assert week["refused"] == "" or WORDS in week["refused"]
        assert week["rows"] in ((100, 20_100) if week["refused"] else (20_100,))  # all of the new week, or nothing
        assert week["old"]
        assert week["later"] == ""
        assert week["rows_later"] == 20_100
        assert week["leftovers"] == ["release.duckdb", "tables"]


def test_every_draw_is_paid_for_wherever_the_disk_fills_up(small_disk):
    endings = [door["first"] for door in small_disk["doors"]]
    assert "" in endings  # with enough room it is drawn
    assert any(WORDS in ending for ending in endings)
    for door in small_disk["doors"]:
        assert door["first"] == "" or WORDS in door["first"]
        assert door["drawn"] <= door["paid"] <= 2  # at most one charge is lost
        assert door["same"]
        assert door["whole"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_whatever_a_full_disk_is_called(tmp_path, code):
    with pytest.raises(BadInput, match=WORDS), in_clear_words(tmp_path):
        raise OSError(code, os.strerror(code))


def test_other_errors_stay_what_they_are(tmp_path):
    with pytest.raises(duckdb.CatalogException), in_clear_words(tmp_path):
        duckdb.sql("from nowhere")
    with pytest.raises(FileNotFoundError), in_clear_words(tmp_path):
        (tmp_path / "none").read_bytes()
