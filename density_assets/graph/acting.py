"""Who started a run and why: said in its tags, by the settings, or by the environment of whatever starts runs.

A person at the terminal gives `--by` and `--reason`; one at the web UI adds the tags below in the launch dialog;
schedules and sensors have the name and reason that `[operator]` of the settings gives.
"""

from collections.abc import Mapping

from density_assets.privacy.acts import Act, act_under
from density_assets.settings import Settings

BY_TAG, REASON_TAG = "density/by", "density/reason"
AGAIN_TAG = "density/again"  # of a run that may publish a published week with other files
TERMINAL = "density/terminal"
STARTERS = {  # tags that Dagster puts on runs, and who is behind them
    "dagster/schedule_name": "schedule",
    "dagster/sensor_name": "sensor",
    "dagster/backfill": "backfill",
    TERMINAL: "terminal",
}


def act_of_run(tags: Mapping[str, str], settings: Settings) -> Act | None:
    """Who started a run with such tags, and why; none if nobody said and it matters."""
    return act_under(settings, tags.get(BY_TAG), tags.get(REASON_TAG), _how(tags))


def _how(tags: Mapping[str, str]) -> str:
    tag = next((tag for tag in STARTERS if tag in tags), None)
    if tag is None:
        return "web UI"
    return f"{STARTERS[tag]} {tags[tag]}" if tag.endswith("_name") else STARTERS[tag]


def tags_of(act: Act | None) -> dict[str, str]:
    """The tags that say so."""
    return {BY_TAG: act.by, REASON_TAG: act.reason} if act else {}
