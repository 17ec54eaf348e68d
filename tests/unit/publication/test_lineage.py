"""The picture of the graph: every asset, every edge, and a leak one would see."""

import re
from itertools import pairwise

from density_assets.city import City
from density_assets.definitions import graph
from density_assets.privacy.zones import Zone
from density_assets.publication.pages.svg import ZONES, Node, depths, lineage
from density_assets.publication.pages.templates import render
from density_assets.settings import load_settings

SMALL = (
    Node("cells", Zone("public")),
    Node("visits", Zone("confidential"), ("cells",)),
    Node("series", Zone("confidential"), ("visits", "cells")),
    Node("noisy", Zone("mechanism"), ("series",)),
    Node("density", Zone("release"), ("noisy", "cells")),
)
EDGE = re.compile(
    r'<path class="edge from-(\w+)" data-from="(\w+)" data-to="(\w+)" [^>]*? d="M([\d.-]+) [^"]*? ([\d.-]+) [\d.-]+"'
)


def lineage_svg(nodes) -> str:
    return render("lineage.svg", lineage=lineage(nodes))


def edges(svg: str) -> list[tuple[str, str, str, float, float]]:
    return [(kind, start, end, float(x0), float(x1)) for kind, start, end, x0, x1 in EDGE.findall(svg)]


def crossings(svg: str) -> list[tuple[str, str]]:
    """Edges that start on the confidential side and end right of the doors."""
    wall = max(float(x) for x in re.findall(r'class="ground door" x="([\d.]+)"', svg))
    width = max(float(x) for x in re.findall(r'class="ground door" x="[\d.]+" y="8" width="([\d.]+)"', svg))
    return [(start, end) for _, start, end, x0, x1 in edges(svg) if x0 < wall and x1 > wall + width]


def test_every_asset_is_a_box_and_every_read_an_edge():
    svg = lineage_svg(SMALL)
    assert re.findall(r'data-asset="(\w+)"><title>', svg) == [node.name for node in SMALL]
    assert {(start, end) for _, start, end, _, _ in edges(svg)} == {
        ("cells", "visits"),
        ("cells", "series"),
        ("visits", "series"),
        ("series", "noisy"),
        ("noisy", "density"),
        ("cells", "density"),
    }


def test_depth_is_the_longest_way():
    assert depths(SMALL) == {"cells": 0, "visits": 1, "series": 2, "noisy": 3, "density": 4}


def test_a_leak_is_an_edge_across_the_doors():
    assert crossings(lineage_svg(SMALL)) == []
    leaking = (*SMALL, Node("page", Zone("release"), ("visits",)))
    assert crossings(lineage_svg(leaking)) == [("visits", "page")]


def test_our_graph_is_drawn_whole_and_nothing_crosses(tmp_path):
    assets, known = graph(City(load_settings(None), tmp_path))
    nodes = known.nodes
    svg = lineage_svg(nodes)
    reads = {
        asset.key.to_user_string(): {key.to_user_string() for key in asset.asset_deps[asset.key]} for asset in assets
    }
    assert {node.name: set(node.reads) for node in nodes} == reads
    assert len(nodes) > 20
    assert {node.zone for node in nodes} == set(ZONES)
    assert len(edges(svg)) == sum(len(node.reads) for node in nodes)
    assert crossings(svg) == []


def test_boxes_do_not_overlap(tmp_path):
    svg = lineage_svg(graph(City(load_settings(None), tmp_path))[1].nodes)
    boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="(\d+)" height="(\d+)" rx', svg)
    corners = sorted((float(x), float(y), float(h)) for x, y, _, h in boxes)
    assert all(x1 > x0 or y1 >= y0 + h for (x0, y0, h), (x1, y1, _) in pairwise(corners))
