"""What the register vouches for."""

import json

from density_assets.publication.manifest import Seal, register_manifest

SEAL = Seal(identity="0" * 32, head="1" * 64, row=1, key="2" * 64)


def test_tables_of_a_week_that_is_not_published_are_not_listed(tmp_path):
    tables = ("cells.parquet", "signed_register.parquet", "clusters/2007-09-10.parquet", "clusters/2007-09-17.parquet")
    beside = ("audit.html", "release.duckdb", "verify.py", SEAL.key_file, "privacy_statement_2007-09-10_r2.json")
    for name in (*beside, *(f"tables/{table}" for table in tables)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    listed = json.loads(register_manifest(tmp_path, "town", SEAL))["files"]
    assert [name for name in listed if name.startswith("tables/")] == [
        "tables/cells.parquet",
        "tables/clusters/2007-09-10.parquet",
    ]
