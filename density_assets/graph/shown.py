"""What the UI shows of a table: pictures and facts where everybody may know them.

Of real people's tables they become files in the confidential folder, because whoever opens the UI reads what is shown
there.
"""

import base64
import json
from collections.abc import Mapping
from datetime import date
from typing import Any

import dagster as dg

from density_assets.city import City
from density_assets.privacy.zones import Zone
from resources.tables.files import private_files, write_durably


def shown(
    city: City, zone: Zone, asset: str, week: date | None, pictures: Mapping[str, bytes], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything where everybody may know it, else only where to find it.

    zone: of the asset. pictures: PNG or SVG, by title.
    """
    if zone.open or city.synthetic:
        return {**facts, **{title: inline_picture(picture) for title, picture in pictures.items()}}
    folder = city.store.confidential / "about" / asset
    with private_files():
        folder.mkdir(parents=True, exist_ok=True)
        write_durably(folder / f"{week}.json", json.dumps(facts, indent=2).encode())
        for title, picture in pictures.items():
            write_durably(folder / f"{week}_{title}.{_kind(picture)}", picture)
    return {"details": f"confidential: {folder.relative_to(city.store.folder)}/{week}*"}


def inline_picture(picture: bytes) -> dg.MetadataValue[Any]:
    """A PNG or SVG as the UI shows it."""
    mime = {"png": "image/png", "svg": "image/svg+xml"}[_kind(picture)]
    return dg.MetadataValue.md(f"![picture](data:{mime};base64,{base64.b64encode(picture).decode()})")


def _kind(picture: bytes) -> str:
    """What a picture is, by its first bytes."""
    return "svg" if picture.startswith(b"<svg") else "png"
