"""The release as open-data portals harvest it: a dataset of DCAT-AP 3 with its files, as JSON-LD."""

import json
from typing import Any

from density_assets.publication.datapackage import MEDIA
from density_assets.publication.dataset import Dataset

CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"
POPULATION_AND_SOCIETY = "http://publications.europa.eu/resource/authority/data-theme/SOCI"


def dcat(dataset: Dataset) -> bytes:
    """The dataset; files are named as they lie beside this one, so that it moves with them."""
    stated, (first, last) = dataset.licensed, dataset.span
    entry: dict[str, Any] = {
        "@context": CONTEXT,
        "@id": _identity(dataset),
        "@type": "dcat:Dataset",
        "dct:identifier": dataset.name,
        "dct:title": dataset.title,
        "dct:description": dataset.description,
        "dct:issued": {"@type": "xsd:date", "@value": dataset.issued},
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": dataset.publisher},
        "dct:temporal": {
            "@type": "dct:PeriodOfTime",
            "dcat:startDate": {"@type": "xsd:date", "@value": first},
            "dcat:endDate": {"@type": "xsd:date", "@value": last},
        },
        "dct:spatial": {"@type": "dct:Location", "dct:title": dataset.said["city"]},
        "dcat:temporalResolution": {"@type": "xsd:duration", "@value": "PT1H"},
        "dcat:theme": {"@id": POPULATION_AND_SOCIETY},
        "dcat:keyword": ["population density", "mobile-phone data", "differential privacy"],
        "dcat:distribution": [_distribution(dataset, name) for name in dataset.files],
        **({"dcat:landingPage": {"@id": stated.homepage}} if stated.homepage else {}),
    }
    if stated.contact:
        entry["dcat:contactPoint"] = {
            "@type": "vcard:Kind",
            "vcard:fn": dataset.publisher,
            "vcard:note": stated.contact,
        }
    return (json.dumps(entry, indent=2, ensure_ascii=False) + "\n").encode()


def _identity(dataset: Dataset) -> str:
    """A name of this release alone: portals take datasets of one name, such as the homepage of all, for one."""
    homepage = dataset.licensed.homepage
    return f"{homepage.partition('#')[0]}#{dataset.name}" if homepage else f"urn:density:{dataset.name}"


def _distribution(dataset: Dataset, name: str) -> dict[str, Any]:
    digest, size = dataset.files[name]
    licence = dataset.licensed.licence_url
    return {
        "@type": "dcat:Distribution",
        "dct:title": name,
        "dcat:accessURL": {"@id": name},
        "dcat:downloadURL": {"@id": name},
        "dcat:mediaType": {"@id": MEDIA_TYPES + MEDIA[name.rsplit(".", 1)[1]]},
        "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(size)},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": digest},
        },
        **({"dct:license": {"@id": licence}} if licence else {}),
    }
