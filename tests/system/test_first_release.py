"""From files to a verified release of real people, by the commands that the documentation names and no others."""

import gzip
import json
import shutil

import polars as pl
from runs import WEEK, density

WHO = ("--by", "data team", "--reason", "weekly releases")


def test_an_operators_semicolons_go_from_init_to_a_verified_release(town, tmp_path):
    home, settings = tmp_path / "home", town.folder / "first.toml"
    first, *lines = (town.visits / "part-0.csv").read_text().replace(",", ";").splitlines()
    named = "service;" + first.replace("user_id;time", "IMSI;timestamp")
    text = "\n".join([named, *(f'"MOC; voice";{line}' for line in lines), ""])
    shutil.rmtree(town.visits)
    town.visits.mkdir()
    (town.visits / "part-0.csv.gz").write_bytes(gzip.compress(text.encode()))
    rows = pl.read_csv(town.folder / "towers.csv", infer_schema=False)
    rows.write_csv(town.folder / "towers.csv", separator=";")

    def said(*words: str, status: int = 0) -> str:
        done = density(home, *words, opening=False)
        assert done.returncode == status, f"{' '.join(words)}: {done.stdout}{done.stderr[-2000:]}"
        return done.stdout + done.stderr

    files = ("--cells", str(town.folder / "cells.geojson"), "--towers", str(town.folder / "towers.csv"))
    said("init", str(settings), *files, "--visits", f"{town.folder}/visits/{{week}}/*.csv.gz", "--yes")
    these = ("--settings", str(settings))
    assert "\nready" in said("check", *these)
    said("ledger", "init", *these, *WHO)
    assert "a person must look" in said("release", *these, *WHO, status=2)
    said("check", *these, "--acknowledge", *WHO)
    released = said("release", *these, *WHO)
    # Whoever releases the next week says why anew: what is said is recorded and published.
    assert f"--settings {settings} --by 'data team' --reason WHY\n" in released.partition("what next:")[2]
    manifest = home / f"first/release/manifest_{WEEK}.json"
    key = json.loads(manifest.read_text())["key"]["fingerprint"]
    assert "verified: signed by" in said("verify", str(manifest), "--key", key)
