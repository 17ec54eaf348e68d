"""What is asked before a published week is made again, of its statement alone."""

import json
from dataclasses import replace

import pytest

from density_assets.errors import PublishedStays
from density_assets.privacy.events import Gaussian
from density_assets.privacy.release import Release
from density_assets.publication.files import Naming
from density_assets.release.sign import refuse_other_draws

HERE = "of four cells"
RELEASE = Release(
    population="subscribers",
    city="town",
    week="2007-09-10",
    revision=1,
    epsilon=0.3,
    delta=2e-6,
    geography=HERE,
    scheme="lowrank",
    calibration="sound",
    parameters={},
    doors={"noisy_totals": (Gaussian("total", 9.0, 1.0),), "noisy_series": (Gaussian("series", 17.0, 1.0),)},
)


@pytest.fixture
def published(tmp_path) -> Naming:
    files = Naming(tmp_path, RELEASE.week, RELEASE.revision)
    charges = [{"door": door, "measurement": RELEASE.key(door)} for door in RELEASE.doors]
    files.file("privacy_statement", "json").write_text(json.dumps({"charges": charges}))
    return files


def test_a_week_may_be_made_again_as_what_it_was_published_as(published):
    refuse_other_draws(published, RELEASE, HERE)


def test_a_week_that_is_not_published_may_be_made_as_anything(tmp_path):
    files = Naming(tmp_path, RELEASE.week, RELEASE.revision)
    refuse_other_draws(files, replace(RELEASE, geography="of five cells"), "of five cells")


def test_a_drawn_week_keeps_its_geography_before_it_is_published_too(tmp_path):
    files = Naming(tmp_path, RELEASE.week, RELEASE.revision)
    with pytest.raises(PublishedStays, match="cells or towers changed"):
        refuse_other_draws(files, RELEASE, "of five cells")


def test_a_published_week_keeps_its_geography_or_is_revised(published):
    with pytest.raises(PublishedStays, match=r"cells or towers changed.*revision 2 in \[revisions\]"):
        refuse_other_draws(published, RELEASE, "of five cells")


def test_where_the_geography_is_the_same_other_draws_are_not_blamed_on_it(published):
    with pytest.raises(PublishedStays, match="published with other draws"):
        refuse_other_draws(published, replace(RELEASE, scheme="gpa"), HERE)
