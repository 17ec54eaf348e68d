"""What the register vouches for."""

import json

from density_assets.publication.manifest import Seal, register_manifest

SEAL = Seal(identity="0" * 32, head="1" * 64, row=1, key="2" * 64)


def test_it_lists_the_page_and_the_tools_and_no_table(tmp_path):
    tables = ("release.duckdb", "tables/cells.parquet", "tables/density/2007-09-10.parquet")
    covered = ("audit.html", SEAL.key_file, "verify.py")
    for name in (*covered, *tables):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    listed = json.loads(register_manifest(tmp_path, "town", SEAL))["files"]
    assert tuple(listed) == covered
