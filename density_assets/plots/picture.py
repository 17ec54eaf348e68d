"""What all pictures share: one ink, one way to become bytes."""

import io

from matplotlib.figure import Figure

INK = "#22303c"


def png(figure: Figure) -> bytes:
    """The figure as a PNG small enough to live in the UI's metadata."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()
