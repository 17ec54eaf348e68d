"""How QGIS shows the counts of a GeoPackage: hour by hour, in colours that grow with them.

A style travels in the file, in the table QGIS looks for, and says two things: which columns hold the start and end of
what a feature shows, so that the temporal controller animates it, and classes of counts with their colours.
"""

from collections.abc import Sequence
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

START, END = "time_start", "time_end"  # columns of the layer
COLOURS = ("#ffffe5", "#fee391", "#fe9929", "#ec7014", "#cc4c02", "#662506")  # light to dark, told apart by everybody
SHARES = (0.25, 0.5, 0.75, 0.9, 0.98)  # of all counts that lie below each break
MODE_START_AND_END, BEGIN_WITHOUT_END = "2", "0"  # as QGIS numbers them


def style(column: str, counts: NDArray[np.int64]) -> str:
    """The style of a layer with one feature per cell and hour, as QML."""
    root = ET.Element("qgis", styleCategories="AllStyleCategories", version="3.34.0")
    _temporal(root)
    breaks = sorted({0.0, *np.quantile(counts, SHARES).round().tolist(), float(counts.max(initial=1))})
    _renderer(root, column, breaks)
    return ET.tostring(root, encoding="unicode")


def _temporal(root: ET.Element) -> None:
    """A feature is shown from its start, and no more at its end."""
    temporal = ET.SubElement(
        root,
        "temporal",
        enabled="1",
        mode=MODE_START_AND_END,
        startField=START,
        endField=END,
        limitMode=BEGIN_WITHOUT_END,
        accumulate="0",
        durationField="",
        durationUnit="h",
        fixedDuration="0",
        startExpression="",
        endExpression="",
    )
    fixed = ET.SubElement(temporal, "fixedRange")
    ET.SubElement(fixed, "start")
    ET.SubElement(fixed, "end")


def _renderer(root: ET.Element, column: str, breaks: Sequence[float]) -> None:
    renderer = ET.SubElement(
        root,
        "renderer-v2",
        type="graduatedSymbol",
        attr=column,
        graduatedMethod="GraduatedColor",
        symbollevels="0",
        enableorderby="0",
        forceraster="0",
    )
    ranges, symbols = ET.SubElement(renderer, "ranges"), ET.SubElement(renderer, "symbols")
    for number, (lower, upper) in enumerate(pairwise(breaks)):
        label = f"{lower:,.0f} to {upper:,.0f}"
        said = {"lower": f"{lower:.0f}", "upper": f"{upper:.0f}", "symbol": str(number), "label": label}
        ET.SubElement(ranges, "range", said, render="true")
        symbol = ET.SubElement(symbols, "symbol", type="fill", name=str(number), alpha="0.8", clip_to_extent="1")
        layer = ET.SubElement(symbol, "layer", {"class": "SimpleFill", "enabled": "1", "locked": "0", "pass": "0"})
        options = ET.SubElement(layer, "Option", type="Map")
        for name, value in {"color": _rgba(number), "style": "solid", "outline_style": "no"}.items():
            ET.SubElement(options, "Option", name=name, type="QString", value=value)


def _rgba(number: int) -> str:
    colour = COLOURS[min(number, len(COLOURS) - 1)]
    return ",".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5)) + ",255"
