"""Who may read whom: the whole table."""

from density_assets.privacy.zones import Zone

PUBLIC, CONFIDENTIAL, MECHANISM, RELEASE, EVALUATION = Zone
READS = {
    PUBLIC: {PUBLIC},
    CONFIDENTIAL: {PUBLIC, CONFIDENTIAL, MECHANISM, RELEASE},
    MECHANISM: {PUBLIC, CONFIDENTIAL, MECHANISM, RELEASE},
    RELEASE: {PUBLIC, MECHANISM, RELEASE},
    EVALUATION: set(Zone),
}


def test_who_may_read_whom():
    assert {zone: {other for other in Zone if zone.may_read(other)} for zone in Zone} == READS


def test_what_is_secret_open_and_free():
    assert {zone for zone in Zone if zone.secret} == {CONFIDENTIAL, EVALUATION}
    assert {zone for zone in Zone if zone.open} == {PUBLIC, MECHANISM, RELEASE}
    assert {zone for zone in Zone if zone.free} == {PUBLIC, RELEASE}


def test_names_of_zones_stand_in_tags():
    assert list(Zone) == ["public", "confidential", "mechanism", "release", "evaluation"]
