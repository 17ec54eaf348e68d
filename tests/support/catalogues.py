"""A release in catalogues: triples that portals harvest, and the entry of the registry of deployments.

Both are read by libraries that share no code with ours.
"""

import json
from pathlib import Path

import jsonschema
import yaml
from rdflib import RDF, Graph, Namespace

DCAT, SPDX = (Namespace(address) for address in ("http://www.w3.org/ns/dcat#", "http://spdx.org/rdf/terms#"))
SCHEMA = json.loads(Path(__file__).with_name("deployments_registry.json").read_text())


def harvested(*files: Path) -> Graph:
    """What entries say together; the names of files are those beside them."""
    graph = Graph()
    for file in files:
        graph.parse(data=file.read_text(), format="json-ld", base=file.parent.as_uri() + "/")
    return graph


def checksums(graph: Graph) -> dict[str, bytes]:
    """Digests by the address of each file that the one dataset of a graph has."""
    (dataset,) = graph.subjects(RDF.type, DCAT.Dataset)
    files = list(graph.objects(dataset, DCAT.distribution))
    assert set(files) == set(graph.subjects(RDF.type, DCAT.Distribution))
    return {
        str(graph.value(file, DCAT.downloadURL)): graph.value(
            graph.value(file, SPDX.checksum), SPDX.checksumValue
        ).toPython()
        for file in files
    }


def entry_in(file: Path) -> dict:
    """The entry in a file, which has every field and no other."""
    entry = yaml.safe_load(file.read_text())
    jsonschema.validate(entry, SCHEMA)
    return entry
