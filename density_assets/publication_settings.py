"""Who publishes, under which licence, and whom to ask: words that catalogues and registries want with every release."""

from typing import Annotated

from pydantic import Field

from density_assets.setting_types import Table

Words = Annotated[str, Field(min_length=1, max_length=2000)]
Link = Annotated[str, Field(pattern=r"^https?://[^\s]+$", max_length=500)]


class PublicationSettings(Table):
    """The table `[publication]`; everything in it is optional, and no word of it decides what is drawn.

    contact: an address for questions. licence: its name, as SPDX writes it. licence_url, homepage: where both are.
    """

    title: Words | None = None
    description: Words | None = None
    publisher: Words | None = None
    contact: Words | None = None
    licence: Words | None = None
    licence_url: Link | None = None
    homepage: Link | None = None
