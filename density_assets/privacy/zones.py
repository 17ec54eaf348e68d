"""Who may read a table: the one place where zones, and what each allows, are spelled out."""

from enum import StrEnum


class Zone(StrEnum):
    """Who may read a table."""

    PUBLIC = "public"  # geometry: free for everybody
    CONFIDENTIAL = "confidential"  # touches personal data
    MECHANISM = "mechanism"  # the doors
    RELEASE = "release"  # safe to hand out
    EVALUATION = "evaluation"  # compares with the truth: confidential

    @property
    def secret(self) -> bool:
        """Whether its tables are computed from records without noise: nobody but their owner may read them."""
        return self in (Zone.CONFIDENTIAL, Zone.EVALUATION)

    @property
    def open(self) -> bool:
        """Whether everybody may know its tables: whatever is public, or has left a door."""
        return not self.secret

    @property
    def free(self) -> bool:
        """Whether its assets must do without records: everything open but the doors themselves."""
        return self in (Zone.PUBLIC, Zone.RELEASE)

    def may_read(self, other: "Zone") -> bool:
        """Whether an asset of this zone may read a table of another.

        Public assets read public ones only. Released assets read nothing secret. Nothing but evaluation reads
        evaluation: to choose what to draw by comparing with the truth is not paid for. By induction everything upstream
        of a free asset has passed a door.
        """
        if self is Zone.PUBLIC:
            return other is Zone.PUBLIC
        if self is Zone.RELEASE:
            return other.open
        return self is Zone.EVALUATION or other is not Zone.EVALUATION


class ZoneLeak(ValueError):
    """An asset would carry confidential data past the doors, or reads what it does not declare."""
