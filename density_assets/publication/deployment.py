"""The release as an entry of the OpenDP deployments registry: who promises what to whom, by which means, as YAML.

All of it follows from the privacy statement and from how this software works; what only the publisher knows (who they
are, what the data are for) comes from `[publication]`.
"""

from typing import Any

import yaml

from density_assets.publication.dataset import NOT_STATED, Dataset

UNPROTECTED = (
    "the list of cells and towers, the week, the settings and every scale of noise are public and not protected; how "
    "many files of records there were and when a run took place is visible to whoever operates it"
)
DETAILS = (
    "adding or removing all records of one subscriber identifier in one week; a person with m identifiers has m-fold "
    "sensitivity, and weeks add up as the statement says under `cumulative`"
)
ACTORS = "the operator, who is trusted with the records; readers, who are not"
PREPROCESSING = (
    "at most {visits} visits of a user and week are kept, or each user's visits are weighed to a norm; bounds, clamps "
    "and shares of the budget are constants of the settings, chosen without looking at records"
)
ARGUMENTS = {  # by what the statement calls the accountant of a release
    "analytic Gaussian": "the exact privacy curve of its Gaussian noise",
    "PLD": "its privacy loss distribution",
    "RDP": "its Rényi divergences",
}
COMPOSITION = (
    "all mechanisms of a release share one budget in zero-concentrated differential privacy, the largest that keeps "
    "the promise by {argument}; weeks are composed by a ledger that refuses what a budget does not allow"
)
POST_PROCESSING = (
    "estimates, rounding to whole counts, sums and every file are computed from noisy numbers and public geography; "
    "a final estimate uses the draws of other weeks, which were paid for"
)
JUSTIFICATION = (
    "noise is drawn by OpenDP on a lattice from the kernel's generator, once, after it was paid for in a hash-chained "
    "ledger; attacks on releases of invented people give lower bounds on epsilon"
)


def deployment(dataset: Dataset) -> bytes:
    """The entry as YAML: the same for the same statement."""
    argument = ARGUMENTS[dataset.said["accounted"]["accountant"]]
    entry = {
        "url_slug": dataset.name,
        "status": "Published",
        "tier": 3,
        "deployment": {
            "basic": _basic(dataset),
            "dp_variant": {
                "variant_name": f"Approximate differential privacy, by {argument}",
                "data_domain": "sets of (subscriber identifier, tower, hour) of one week",
                "unprotected_quantities": UNPROTECTED,
            },
            "privacy_loss": _privacy_loss(dataset.said),
            "deployment_model": _model(),
            "accounting": {
                "post_processing": POST_PROCESSING,
                "composition": COMPOSITION.format(argument=argument),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": PREPROCESSING.format(
                    visits=dataset.said["parameters"].get("visits_per_user", "a fixed number of")
                ),
                "mechanisms": _mechanisms(dataset.said),
                "justification": JUSTIFICATION,
            },
            "administrative": {
                "sources": dataset.licensed.homepage or NOT_STATED,
                "notes": f"scheme {dataset.said['scheme']}, version {dataset.said['version']}; the signed manifest "
                "beside this file lists every file of the release",
                "registry_authors": [dataset.publisher],
            },
        },
    }
    return str(yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=100)).encode()


def _basic(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.title,
        "data_curators": [dataset.publisher],
        "description": dataset.description,
        "intended_use": dataset.licensed.description or "planning: how many devices are where, hour by hour",
        "data_product_type": "Dataset",
        "data_product_region": dataset.said["city"],
        "publication_date": dataset.issued,
        "data_product_sector": "Telecommunications",
    }


def _privacy_loss(said: dict[str, Any]) -> dict[str, Any]:
    week = said["cumulative"]["for_a_person"]["week"][0]
    return {
        "privacy_unit": "subscriber-week",
        "privacy_unit_details": DETAILS,
        "privacy_parameters": {"epsilon": said["epsilon"], "delta": said["delta"], "rho": week["rho"]},
        "privacy_parameters_details": (
            f"accounted for: epsilon {said['accounted']['epsilon']:.4f} at delta {said['delta']:g}; an attacker's best "
            f"AUC against one week is {week['attacker_auc']:g}"
        ),
    }


def _model() -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_details": "the operator sees the records; noise is added before anything leaves it",
        "actors": ACTORS,
        "release_type": "Static",
        "release_type_details": "one release a week, drawn once; a revision is declared by a person and charged",
        "data_source_type": "Dynamic",
        "data_source_type_details": "records of mobile phones arrive continuously and are taken week by week",
        "access_type": "Non-interactive",
        "access_type_details": "published files; any number of questions to them costs nothing",
    }


def _mechanisms(said: dict[str, Any]) -> str:
    drawn = [f"{event['kind']} on {event['query']}" for charge in said["charges"] for event in charge["events"]]
    return "; ".join(drawn)
