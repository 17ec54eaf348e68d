"""Regions and factors in the graph: which ones the files of a week are made with.

A week that is not published gets what the public tables `regions` and `people_factors` say today; a published one keeps
what it was published with (`publication/public_inputs.py`). Signing believes neither table, because they lie where
people can write: it reads once more what settings name.
"""

from collections.abc import Iterator
from dataclasses import replace

from density_assets.city import City
from density_assets.geography.regions import CELL, city_regions, regions_from
from density_assets.graph.step import Step
from density_assets.publication.people import city_factors, factors_from
from density_assets.publication.public_inputs import INPUTS_FILE, PublicInputs, inputs_in, published_inputs, written
from density_assets.publication.verification import content_of
from density_assets.settings import Settings


def of_inputs(city: City) -> tuple[str, ...]:
    """The public assets that a city has of them."""
    return _assets(city.settings)


def origins_of_inputs(city: City) -> tuple[str, ...]:
    """The columns that files of counts come from, besides the counts."""
    values = {"regions": "regions.region_id", "people_factors": "people_factors.value"}
    return tuple(values[asset] for asset in of_inputs(city))


def known_inputs(step: Step) -> PublicInputs:
    """The regions and factors of a week."""
    return inputs_in(inputs_content(step))


def inputs_content(step: Step) -> bytes:
    """The file of them; nothing of a week without."""
    if step.inputs_digest is None:
        return _today(step)
    return published_inputs(step.files, step.inputs_digest, _candidates(step))


def other_inputs(city: City, step: Step, cell_ids: list[str]) -> Iterator[str]:
    """What of the inputs of a week that is not published yet is not what settings name."""
    if step.inputs_digest is None:
        settings = city.settings
        regions = city_regions(settings, cell_ids)
        named = PublicInputs(regions, city_factors(settings, cell_ids, regions))
        if written(named, cell_ids) != inputs_content(step):
            yield f"the table of {' or '.join(_assets(settings)) or 'regions'}"


def _candidates(step: Step) -> Iterator[bytes]:
    """Where the inputs of a published week may be: with it, with the estimate it was first published with, today."""
    yield from (content_of(files.file(*INPUTS_FILE)) for files in (step.files, replace(step.files, upto=None)))
    yield _today(step)


def _today(step: Step) -> bytes:
    """The file as the public tables would have it now."""
    tables = {asset: step.read(asset) for asset in _assets(step.settings)}
    regions, factors = tables.get("regions"), tables.get("people_factors")
    inputs = PublicInputs(
        None if regions is None else regions_from(regions),
        None if factors is None else factors_from(factors),
    )
    ids = next((table[CELL].drop_nulls().unique(maintain_order=True).to_list() for table in tables.values()), [])
    return written(inputs, ids)


def _assets(settings: Settings) -> tuple[str, ...]:
    return (
        *(("regions",) if settings.city.has_regions else ()),
        *(("people_factors",) if settings.people.stated else ()),
    )
