"""Which final estimate of a week can be made: of one that is published, by a scheme that learns, with a later week."""

from datetime import date

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.privacy.estimates import Estimated, estimated_with_all_weeks
from density_assets.publication.keeping import PublishedStays
from density_assets.schemes import learning_scheme


def final_of(city: City, week: date) -> Estimated:
    """What a final estimate of a week is made of, as of today; raises where there can be none.

    A final estimate is named after the last week it uses. One that is published under that name is made again; another
    one does not take its place.
    """
    release, accounts = city.release(week), city.ledger.accounts()
    if learning_scheme(release.scheme) is None:
        raise BadInput(
            f"a final estimate must be of a scheme that learns from other weeks, but the week of {week} was drawn by "
            f"{release.scheme}: its first estimate is its last"
        )
    if not accounts.publications(release.which):
        raise BadInput(f"the week of {week} must be published before it is estimated again: release it first")
    final = estimated_with_all_weeks(accounts, release)
    upto = final.later[-1].week
    published = accounts.publications(release.which, upto)
    if published and published[-1].body["estimate"] != final.key(release):
        raise PublishedStays(
            f"a final estimate of the week of {week} with weeks up to {upto} is published and stays as it is, but a "
            "week between was drawn or revised since: another one can be made once a later week is drawn"
        )
    return final
