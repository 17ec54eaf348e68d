"""A release as portals harvest it: triples, read by a library that shares no code with ours."""

from pathlib import Path

from rdflib import RDF, Graph, Namespace

DCAT, SPDX = (Namespace(address) for address in ("http://www.w3.org/ns/dcat#", "http://spdx.org/rdf/terms#"))


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
