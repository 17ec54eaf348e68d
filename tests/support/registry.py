"""What the registry of deployments of differential privacy asks of an entry."""

import json
from pathlib import Path

import jsonschema
import yaml

SCHEMA = json.loads(Path(__file__).with_name("deployments_registry.json").read_text())


def entry_in(file: Path) -> dict:
    """The entry in a file, which has every field and no other."""
    entry = yaml.safe_load(file.read_text())
    jsonschema.validate(entry, SCHEMA)
    return entry
