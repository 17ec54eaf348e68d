"""The release that settings and public geography ask for: everything that shapes its draws, as one value."""

from datetime import date

from density_assets.privacy.charges import population_name
from density_assets.privacy.release import Release
from density_assets.schemes.scheme import Plan, Scheme
from density_assets.settings import Settings

OF_EVERY_SCHEME = frozenset({"improved", "split", "weight_l"})  # settings of [scheme] that shape all draws


def asked_release(settings: Settings, scheme: Scheme, plan: Plan, geography: str, week: date) -> Release:
    """The release of a week.

    plan: what its doors will spend. geography: the hash of cells and towers.

    Guarantees: a setting that shapes a draw is one of its parameters, and so part of every measurement key; one that
    only says how files are read is not. Golden tests pin the keys: another key is another charge.
    """
    simulated = {"users", "seed"} if settings.city.synthetic else set()
    return Release(
        population=population_name(settings),
        city=settings.city.name,
        week=str(week),
        revision=settings.revision_of(str(week)),
        epsilon=settings.privacy.epsilon,
        delta=settings.privacy.delta,
        geography=geography,
        scheme=scheme.name,
        calibration=settings.scheme.calibration,
        version=scheme.version,
        parameters={
            **settings.privacy.model_dump(include={"visits_per_user", "visits_clamp"}),
            **settings.scheme.model_dump(include={*OF_EVERY_SCHEME, *scheme.own_settings}),
            **settings.city.model_dump(include={"timezone", *simulated}),
        },
        doors=plan,
    )
