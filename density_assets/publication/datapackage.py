"""The release as a data package (Frictionless Data Package 2): every file with bytes, digest, licence and schema.

Schemas are read off the Parquet files, whose columns carry the words of `columns.py`: what is described is what is
there.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from density_assets.publication.dataset import Dataset

PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
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


def data_package(dataset: Dataset) -> bytes:
    """The descriptor: what lies beside it, and what it means."""
    stated = dataset.licensed
    licences = [{"name": stated.licence, "path": stated.licence_url}] if stated.licence or stated.licence_url else []
    said: dict[str, Any] = {
        "$schema": PROFILE,
        "name": dataset.name,
        "title": dataset.title,
        "description": dataset.description,
        "homepage": stated.homepage,
        "created": f"{dataset.issued}T00:00:00Z",
        "version": f"{dataset.naming.week}-r{dataset.naming.revision}",
        "contributors": [{"title": dataset.publisher, "email": stated.contact, "roles": ["publisher"]}],
        "licenses": [_stated(licence) for licence in licences],
        "sources": [{"title": "mobile-phone records of the operator, which are not published"}],
        "resources": [_resource(dataset, name) for name in dataset.files],
        "publication": stated.model_dump(exclude_none=True),
    }
    said["contributors"] = [_stated(one) for one in said["contributors"]]
    return (json.dumps(_stated(said), indent=2, ensure_ascii=False) + "\n").encode()


def _stated(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what nobody stated."""
    return {name: value for name, value in record.items() if value not in (None, [])}


def _resource(dataset: Dataset, name: str) -> dict[str, Any]:
    file = dataset.naming.folder / name
    digest, size = dataset.files[name]
    kind = file.suffix.removeprefix(".")
    record = {
        "name": name.lower().replace("_", "-"),
        "path": name,
        "format": kind,
        "mediatype": MEDIA[kind],
        "encoding": None if kind in ("parquet", "gpkg") else "utf-8",
        "bytes": size,
        "hash": f"sha256:{digest}",
    }
    if kind == "parquet":
        return _stated({**record, "schema": _schema(pq.read_schema(file))})
    if kind == "csv" and name.startswith(("density", "regions")):
        return _stated({**record, "type": "table", "schema": _schema(pq.read_schema(_typed(file)))})
    return _stated(record)


def _typed(file: Path) -> Path:
    """The Parquet file with the columns of a text file."""
    return file.with_suffix(".parquet")


def _schema(schema: pa.Schema) -> dict[str, Any]:
    """A table schema: names, types, meanings and units."""
    return {"fields": [_field(field) for field in schema], "missingValues": [""]}


def _field(field: pa.Field) -> dict[str, Any]:
    said = {name.decode(): text.decode() for name, text in (field.metadata or {}).items()}
    record = {
        "name": field.name,
        "type": "any" if pa.types.is_binary(field.type) else said["kind"],
        "description": said["meaning"],
        "unit": said.get("unit"),
        "concept": said.get("concept"),
        "constraints": None if field.nullable else {"required": True},
    }
    return _stated(record)
