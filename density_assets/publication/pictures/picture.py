"""What all pictures share: one ink, one way to write numbers of many sizes, one way to become bytes.

Pictures load Matplotlib when they are drawn: it takes half a second, which every start of the graph would pay for.
"""

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INK = "#22303c"


def plain_numbers(axis: "Axis") -> None:
    """Label a logarithmic axis with numbers as people write them."""
    from matplotlib.ticker import LogLocator

    axis.set_minor_locator(LogLocator(subs=(2, 3, 5, 7)))
    axis.set_major_formatter("{x:,.10g}")
    axis.set_minor_formatter("{x:,.10g}")


def png(figure: "Figure") -> bytes:
    """The figure as a PNG small enough to live in the UI's metadata."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()
