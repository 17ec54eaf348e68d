"""What catalogues are told of a release: the words of its publisher, or sensible ones where there are none."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from density_assets.publication.files import Naming
from density_assets.settings.people import PublicationSettings

NOT_STATED = "not stated"


@dataclass(frozen=True)
class Dataset:
    """A release as catalogues know it.

    said: the privacy statement as data. files: digest and size of every file, by name. licensed: what the publisher
    states, as the release was first published with.
    """

    naming: Naming
    said: dict[str, Any]
    files: dict[str, tuple[str, int]]
    licensed: PublicationSettings

    @property
    def name(self) -> str:
        """Names the release among all: lower case, digits and hyphens."""
        stem = self.naming.file(f"{self.said['city']}-density", "x").stem
        return stem.lower().replace("_", "-")

    @property
    def title(self) -> str:
        """The headline of the release."""
        given = self.licensed.title or f"Hourly population density of {self.said['city']}"
        return f"{given}, week of {self.said['week']}{self._vintage}"

    @property
    def description(self) -> str:
        """What it is, in a paragraph."""
        given = f"{self.licensed.description} " if self.licensed.description else ""
        return (
            f"{given}Visits (devices seen in a cell in an hour) for every cell and hour of the week of "
            f"{self.said['week']}, made from phone records, with noise that keeps a promise of "
            f"({self.said['epsilon']:g}, {self.said['delta']:g}) differential privacy to each subscriber's week."
        )

    @property
    def publisher(self) -> str:
        """Who publishes."""
        return self.licensed.publisher or NOT_STATED

    @property
    def issued(self) -> str:
        """The day on which the release was charged: the same whenever the files are made again."""
        return str(max(charge["at"] for charge in self.said["charges"]))[:10]

    @property
    def span(self) -> tuple[str, str]:
        """The first and the last day of the week."""
        monday = date.fromisoformat(self.said["week"])
        return monday.isoformat(), (monday + timedelta(days=6)).isoformat()

    @property
    def _vintage(self) -> str:
        return f", final estimate with weeks up to {self.naming.upto}" if self.naming.upto else ""
