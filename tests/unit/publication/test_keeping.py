"""Whether a published week may be made again: asked of its statement, before anything runs."""

import hashlib
import json
from dataclasses import replace

import pytest

from density_assets.privacy.events import Gaussian
from density_assets.privacy.release import Release
from density_assets.publication.files import Naming
from density_assets.publication.keeping import PublishedStays, refuse_other_files, refuse_to_overwrite

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
    refuse_to_overwrite(published, RELEASE, HERE)


def test_a_week_that_is_not_published_may_be_made_as_anything(tmp_path):
    files = Naming(tmp_path, RELEASE.week, RELEASE.revision)
    refuse_to_overwrite(files, replace(RELEASE, geography="of five cells"), "of five cells")


def test_a_drawn_week_keeps_its_geography_before_it_is_published_too(tmp_path):
    files = Naming(tmp_path, RELEASE.week, RELEASE.revision)
    with pytest.raises(PublishedStays, match="must keep the geography it was drawn under"):
        refuse_to_overwrite(files, RELEASE, "of five cells")


def test_a_published_week_stays_what_it_is_and_the_reason_says_what_to_do(published):
    again = r"declare revision 2 of this week in \[revisions\], which is charged"
    words = "revision 1 of the week of 2007-09-10 must keep the geography it was drawn under"
    with pytest.raises(PublishedStays, match=f"{words}.*{again}"):
        refuse_to_overwrite(published, RELEASE, "of five cells")


def test_where_the_geography_is_the_same_other_draws_are_not_blamed_on_it(published):
    with pytest.raises(PublishedStays, match="must keep the draws it is published with") as refused:
        refuse_to_overwrite(published, replace(RELEASE, scheme="gpa"), HERE)
    assert "the geography it was drawn under" not in str(refused.value)


def test_a_refusal_to_publish_other_files_says_whether_those_there_are_the_signed_ones(tmp_path):
    """A run with --again that is killed leaves some of both: what it says must not call that well."""
    files = Naming(tmp_path, RELEASE.week, RELEASE.revision)
    counts, page = files.file("density", "csv"), files.file("report", "html")
    for file in (counts, page):
        file.write_bytes(b"as signed")
    listed = {file.name: {"sha256": hashlib.sha256(b"as signed").hexdigest()} for file in (counts, page)}
    files.file("manifest", "json").write_text(json.dumps({"files": listed}))
    with pytest.raises(PublishedStays, match="what was published is as it was"):
        refuse_other_files(files, {counts: b"by a newer software"})
    counts.write_bytes(b"by a newer software")
    page.unlink()
    way_back = "`density rebuild --again --from 2007-09-10 .*That command ends what it began"
    with pytest.raises(PublishedStays, match=rf"{way_back}") as refused:
        refuse_other_files(files, {page: b"by a newer software"})
    assert f"({counts.name}, {page.name})" in str(refused.value)
    assert "is as it was" not in str(refused.value)
