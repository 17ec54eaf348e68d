"""What manifests list."""

import json

from density_assets.release.manifest import Seal, register_manifest

SEAL = Seal(identity="0" * 32, head="1" * 64, row=1, key="2" * 64)


def test_it_lists_what_it_is_given_with_size_and_digest():
    listed = json.loads(register_manifest("town", {"audit.html": b"page", "verify.py": b""}, SEAL))["files"]
    assert {name: of["bytes"] for name, of in listed.items()} == {"audit.html": 4, "verify.py": 0}
    assert listed["verify.py"]["sha256"] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
