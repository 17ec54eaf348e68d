"""The entry for portals: what they must be able to tell apart, and to find."""

import hashlib
from pathlib import Path

import pytest
from portals import DCAT, checksums, harvested
from rdflib import RDF, URIRef

from density_assets.publication.catalogues import Dataset, dcat
from density_assets.publication.files import Naming
from density_assets.settings.people import PublicationSettings

HOME = "https://town.example/presence"


def written(folder: Path, week: str, **stated: str) -> Path:
    """The entry of a week with one file."""
    said = {"city": "town", "week": week, "epsilon": 0.3, "delta": 1e-6, "charges": [{"at": f"{week}T12:00:00"}]}
    naming = Naming(folder, week, 1)
    dataset = Dataset(naming, said, {"density.csv": b"abc"}, PublicationSettings(**stated))
    file = naming.file("dcat", "jsonld")
    file.write_bytes(dcat(dataset))
    return file


@pytest.mark.parametrize(
    "stated", [{}, {"homepage": HOME}, {"homepage": f"{HOME}#data"}], ids=["plain", "home", "part"]
)
def test_weeks_of_one_city_are_datasets_of_their_own(tmp_path, stated):
    graph = harvested(written(tmp_path, "2007-09-10", **stated), written(tmp_path, "2007-09-17", **stated))
    assert len(set(graph.subjects(RDF.type, DCAT.Dataset))) == 2
    assert set(graph.objects(None, DCAT.landingPage)) == {URIRef(page) for page in stated.values()}


def test_a_file_is_found_beside_the_entry_with_its_checksum(tmp_path):
    graph = harvested(written(tmp_path, "2007-09-10", homepage=HOME))
    assert checksums(graph) == {(tmp_path / "density.csv").as_uri(): hashlib.sha256(b"abc").digest()}
