"""A release as catalogues know it: data package, entry of open-data portals, entry of a registry, and SDMX.

One value, `Dataset`, says what a release is; each format is one function of it:

data_package    Frictionless Data Package 2: every file with bytes, digest, licence and schema
dcat            a dataset of DCAT-AP 3 with its files, as JSON-LD, which portals harvest
deployment      an entry of the OpenDP deployments registry: who promises what to whom, as YAML

What only the publisher knows (who they are, what the data are for) comes from `[publication]`; all else follows from
the privacy statement and from the files. `sdmx_csv` writes the counts as statistics offices load them.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from density_assets.privacy.release import Identity
from density_assets.publication.columns import Columns
from density_assets.publication.files import Naming
from density_assets.settings.people import PublicationSettings

NOT_STATED = "not stated"
MEDIA = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "geojson": "application/geo+json",
    "gpkg": "application/geopackage+sqlite3",
    "json": "application/json",
    "jsonld": "application/ld+json",
    "yaml": "application/yaml",
    "md": "text/markdown",
}


@dataclass(frozen=True)
class Dataset:
    """A release as catalogues know it.

    statement: the privacy statement as data. contents: of every file, by name. publication: what the publisher states.
    """

    naming: Naming
    statement: Mapping[str, Any]
    contents: Mapping[str, bytes]
    publication: PublicationSettings

    @property
    def name(self) -> str:
        """Names the release among all: lower case, digits and hyphens."""
        stem = self.naming.file(f"{self.statement['city']}-density", "x").stem
        return stem.lower().replace("_", "-")

    @property
    def title(self) -> str:
        """The headline of the release."""
        headline = self.publication.title or f"Hourly population density of {self.statement['city']}"
        upto = self.naming.upto
        vintage = f", final estimate with weeks up to {upto}" if upto else ""
        return f"{headline}, week of {self.statement['week']}{vintage}"

    @property
    def description(self) -> str:
        """A paragraph on the release."""
        words = f"{self.publication.description} " if self.publication.description else ""
        return (
            f"{words}Visits (devices seen in a cell in an hour) for every cell and hour of the week of "
            f"{self.statement['week']}, made from phone records, with noise that keeps a promise of "
            f"({self.statement['epsilon']:g}, {self.statement['delta']:g}) differential privacy to each subscriber's "
            "week."
        )

    @property
    def publisher(self) -> str:
        """The name of the publisher."""
        return self.publication.publisher or NOT_STATED

    @property
    def issued(self) -> str:
        """The day on which the release was charged: the same whenever the files are made again."""
        return str(max(charge["at"] for charge in self.statement["charges"]))[:10]

    def digest(self, name: str) -> str:
        """SHA-256 of a file."""
        return hashlib.sha256(self.contents[name]).hexdigest()


def data_package(dataset: Dataset) -> bytes:
    """The descriptor: every file that lies beside it, and the meaning of its columns."""
    publication = dataset.publication
    descriptor = {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": dataset.name,
        "title": dataset.title,
        "description": dataset.description,
        "homepage": publication.homepage,
        "created": f"{dataset.issued}T00:00:00Z",
        "version": f"{dataset.naming.week}-r{dataset.naming.revision}",
        "contributors": [{"title": dataset.publisher, "email": publication.contact, "roles": ["publisher"]}],
        "licenses": [{"name": publication.licence, "path": publication.licence_url}],
        "sources": [{"title": "mobile-phone records of the operator, which are not published"}],
        "resources": [_resource(dataset, name) for name in dataset.contents],
        "publication": publication.model_dump(),
    }
    return (json.dumps(_without_empty(descriptor), indent=2, ensure_ascii=False) + "\n").encode()


def _without_empty(value: Any) -> Any:
    """A record without what nobody stated: no field is null, no list has an empty record."""
    if isinstance(value, dict):
        fields = ((name, _without_empty(field)) for name, field in value.items())
        return {name: field for name, field in fields if field not in (None, [])}
    if isinstance(value, list):
        return [record for record in map(_without_empty, value) if record != {}]
    return value


def _resource(dataset: Dataset, name: str) -> dict[str, Any]:
    stem, _, suffix = name.rpartition(".")
    resource = {
        "name": name.lower().replace("_", "-"),
        "path": name,
        "format": suffix,
        "mediatype": MEDIA[suffix],
        "encoding": None if suffix in ("parquet", "gpkg") else "utf-8",
        "bytes": len(dataset.contents[name]),
        "hash": f"sha256:{dataset.digest(name)}",
    }
    # A text file has the columns of the Parquet file beside it; SDMX has columns of its own.
    parquet = dataset.contents.get(f"{stem}.parquet") if suffix in ("parquet", "csv") else None
    if parquet is None:
        return resource
    return {**resource, "type": "table" if suffix == "csv" else None, "schema": _table_schema(parquet)}


def _table_schema(parquet: bytes) -> dict[str, Any]:
    """Names, types, meanings and units, as the file has them: what is described is what is there."""
    fields = [_field(field) for field in pq.read_schema(io.BytesIO(parquet))]
    return {"fields": fields, "missingValues": [""]}


def _field(field: pa.Field) -> dict[str, Any]:
    words = {name.decode(): text.decode() for name, text in (field.metadata or {}).items()}
    return {
        "name": field.name,
        "type": "any" if pa.types.is_binary(field.type) else words["kind"],
        "description": words["meaning"],
        "unit": words.get("unit"),
        "concept": words.get("concept"),
        "constraints": None if field.nullable else {"required": True},
    }


DCAT_CONTEXT = {
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
    publication, publisher = dataset.publication, dataset.publisher
    # Portals take datasets of one name, such as the homepage of all, for one.
    homepage = publication.homepage
    identity = f"{homepage.partition('#')[0]}#{dataset.name}" if homepage else f"urn:density:{dataset.name}"
    monday = date.fromisoformat(dataset.statement["week"])
    contact = {"@type": "vcard:Kind", "vcard:fn": publisher, "vcard:note": publication.contact}
    entry = {
        "@context": DCAT_CONTEXT,
        "@id": identity,
        "@type": "dcat:Dataset",
        "dct:identifier": dataset.name,
        "dct:title": dataset.title,
        "dct:description": dataset.description,
        "dct:issued": _typed("date", dataset.issued),
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": publisher},
        "dct:temporal": {
            "@type": "dct:PeriodOfTime",
            "dcat:startDate": _typed("date", f"{monday}"),
            "dcat:endDate": _typed("date", f"{monday + timedelta(days=6)}"),
        },
        "dct:spatial": {"@type": "dct:Location", "dct:title": dataset.statement["city"]},
        "dcat:temporalResolution": _typed("duration", "PT1H"),
        "dcat:theme": {"@id": POPULATION_AND_SOCIETY},
        "dcat:keyword": ["population density", "mobile-phone data", "differential privacy"],
        "dcat:distribution": [_distribution(dataset, name) for name in dataset.contents],
        **({"dcat:landingPage": {"@id": homepage}} if homepage else {}),
        **({"dcat:contactPoint": contact} if publication.contact else {}),
    }
    return (json.dumps(entry, indent=2, ensure_ascii=False) + "\n").encode()


def _distribution(dataset: Dataset, name: str) -> dict[str, Any]:
    licence = dataset.publication.licence_url
    return {
        "@type": "dcat:Distribution",
        "dct:title": name,
        "dcat:accessURL": {"@id": name},
        "dcat:downloadURL": {"@id": name},
        "dcat:mediaType": {"@id": MEDIA_TYPES + MEDIA[name.rsplit(".", 1)[1]]},
        "dcat:byteSize": _typed("nonNegativeInteger", str(len(dataset.contents[name]))),
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": _typed("hexBinary", dataset.digest(name)),
        },
        **({"dct:license": {"@id": licence}} if licence else {}),
    }


def _typed(kind: str, value: str) -> dict[str, str]:
    return {"@type": f"xsd:{kind}", "@value": value}


ACCOUNTANTS = {  # how a release is accounted for, by what the statement calls it
    "analytic Gaussian": "the exact privacy curve of its Gaussian noise",
    "PLD": "its privacy loss distribution",
    "RDP": "its Rényi divergences",
}


def deployment(dataset: Dataset) -> bytes:
    """The entry as YAML; where the registry has a list of allowed words, one of them."""
    statement, publication = dataset.statement, dataset.publication
    week = statement["cumulative"]["for_a_person"]["week"][0]
    drawn = [f"{event['kind']} on {event['query']}" for charge in statement["charges"] for event in charge["events"]]
    visits = statement["parameters"].get("visits_per_user", "a fixed number of")
    fields: dict[str, dict[str, Any]] = {
        "basic": {
            "name": dataset.title,
            "data_curators": [dataset.publisher],
            "description": dataset.description,
            "intended_use": publication.description or "planning: how many devices are where, hour by hour",
            "data_product_type": "Dataset",
            "data_product_region": statement["city"],
            "publication_date": dataset.issued,
            "data_product_sector": "Technology",  # the registry has no word for telecommunications
        },
        "dp_variant": {
            "variant_name": "Approximate DP",
            "data_domain": "sets of (subscriber identifier, tower, hour) of one week",
            "unprotected_quantities": (
                "the list of cells and towers, the week, the settings and every scale of noise are public and not "
                "protected; how many files of records there were and when a run took place is visible to whoever "
                "operates it"
            ),
        },
        "privacy_loss": {
            "privacy_unit": "User-week-level",
            "privacy_unit_details": (
                "adding or removing all records of one subscriber identifier in one week; a person with m identifiers "
                "has m-fold sensitivity, and weeks add up as the statement says under `cumulative`"
            ),
            "privacy_parameters": {
                "epsilon": statement["epsilon"],
                "delta": statement["delta"],
                "rho": week["rho"],
            },
            "privacy_parameters_details": (
                f"accounted for: epsilon {statement['accounted']['epsilon']:.4f} at delta {statement['delta']:g}; an "
                f"attacker's best AUC against one week is {week['attacker_auc']:g}"
            ),
        },
        "deployment_model": {
            "model_name": "Central",
            "model_name_details": "the operator sees the records; noise is added before anything leaves it",
            "actors": "the operator, who is trusted with the records; readers, who are not",
            "release_type": "Many releases",
            "release_type_details": "one release a week, drawn once; a revision is declared by a person and charged",
            "data_source_type": "Dynamic",
            "data_source_type_details": "records of mobile phones arrive continuously and are taken week by week",
            "access_type": "Non-interactive",
            "access_type_details": "published files; any number of questions to them costs nothing",
        },
        "accounting": {
            "post_processing": (
                "estimates, rounding to whole counts, sums and every file are computed from noisy numbers and public "
                "geography; a final estimate uses the draws of other weeks, which were paid for"
            ),
            "composition": (
                "all mechanisms of a release share one budget in zero-concentrated differential privacy, the largest "
                f"that keeps the promise by {ACCOUNTANTS[statement['accounted']['accountant']]}; weeks are composed "
                "by a ledger that refuses what a budget does not allow"
            ),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": (
                f"at most {visits} visits of a user and week are kept, or each user's visits are weighed to a norm; "
                "bounds, clamps and shares of the budget are constants of the settings, chosen without looking at "
                "records"
            ),
            "mechanisms": "; ".join(drawn),
            "justification": (
                "noise is drawn by OpenDP on a lattice from the kernel's generator, once, after it was paid for in a "
                "hash-chained ledger; attacks on releases of invented people give lower bounds on epsilon"
            ),
        },
        "administrative": {
            "sources": publication.homepage or NOT_STATED,
            "notes": (
                f"scheme {statement['scheme']}; the signed manifest beside this file lists every file of the release"
            ),
            "registry_authors": [dataset.publisher],
        },
    }
    entry = {"url_slug": dataset.name, "status": "Draft", "tier": 3, "deployment": fields}
    return str(yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=100)).encode()


SDMX_STRUCTURE = {"STRUCTURE": "dataflow", "STRUCTURE_ID": "DENSITY:VISITS(1.0.0)", "ACTION": "I", "FREQ": "H"}


def sdmx_csv(counts: pl.DataFrame, columns: Columns, promise: Identity) -> str:
    """The counts as SDMX-CSV 2.0, one row per observation; an hour that does not happen has none.

    The promise stands in every row, so that a row that travels alone still says what protects it.

    counts: with times as text. columns: their descriptions, with the concepts by which offices know them.
    """
    concepts = {column.name: column.concept for column in columns if column.concept}
    observed = [pl.col(name).alias(concept) for name, concept in concepts.items()]
    # The privacy unit is all records of one subscriber identifier in one week.
    promised = {"EPSILON": promise.epsilon, "DELTA": promise.delta, "PRIVACY_UNIT": "SUBSCRIBER_WEEK"}
    before, after = ([pl.lit(value).alias(name) for name, value in part.items()] for part in (SDMX_STRUCTURE, promised))
    return counts.select(*before, *observed, *after).drop_nulls("TIME_PERIOD").write_csv()
