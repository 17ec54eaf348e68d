"""Pictures in the UI: told by their first bytes, shown as Markdown."""

import base64

import pytest

from density_assets.graph.columns import inline_picture

PNG = b"\x89PNG\r\n\x1a\nrest"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"></svg>'


@pytest.mark.parametrize(("picture", "kind"), [(PNG, "png"), (SVG, "svg+xml")])
def test_a_picture_is_shown_as_what_it_is(picture, kind):
    shown = inline_picture(picture).value
    assert shown == f"![picture](data:image/{kind};base64,{base64.b64encode(picture).decode()})"
