"""Runs from a terminal: a job in this process, as part of the city's instance, how it looks, and what became of it."""

import logging
import sys
import time
import uuid
from dataclasses import dataclass
from typing import Any

import dagster as dg
from dagster_shared.error import SerializableErrorInfo

from density_assets.city import City
from density_assets.graph.acting import CALLED_OFF, TERMINAL, tags_of
from density_assets.graph.instance import open_instance, this_process
from density_assets.graph.naming import own
from density_assets.graph.worker import Wall, end_worker, start_worker
from density_assets.privacy.acts import Act
from resources.alerts import OURS

# What Dagster says of its own when steps are skipped, or when a check had nothing to look at.
NOT_FOR_PEOPLE = ("Dependencies for step", "did not yield or return expected outputs")


class _StepLines(logging.Handler):
    """One line when a step ends, its progress before that, and warnings and errors as they come."""

    def __init__(self) -> None:
        super().__init__()
        self._started: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        meta = getattr(record, "dagster_meta", {})
        event = meta.get("dagster_event")
        step = meta.get("step_key") or ""
        kind = event.event_type_value if event else None
        message = meta.get("orig_message") or record.getMessage()
        if kind == "STEP_START":
            self._started[step] = time.monotonic()
            say(f"  … {step}")
        elif kind == "STEP_SUCCESS":
            say(f"  ✓ {step:<22} {time.monotonic() - self._started[step]:6.1f} s\n")
        elif event is not None and kind == "ASSET_CHECK_EVALUATION":
            outcome = event.asset_check_evaluation_data
            if not outcome.passed:
                say(f"  ! {outcome.asset_key.to_user_string()}: {outcome.check_name}: {outcome.description}\n")
        elif kind == "STEP_FAILURE":
            say(f"  ✗ {step}\n")
        elif event is None and record.levelno >= logging.INFO and not any(map(message.__contains__, NOT_FOR_PEOPLE)):
            say(f"  ! {message}\n" if record.levelno >= logging.WARNING else f"  … {message}")


@dg.logger
def console(_: dg.InitLoggerContext) -> logging.Logger:
    """The log a person sees while a run works: one line per step."""
    logger = logging.getLogger("density_assets.run")
    logger.setLevel(logging.DEBUG)  # steps start and end at this level
    logger.handlers = [_StepLines()]
    logger.propagate = False
    return logger


def say(line: str) -> None:
    """Progress overwrites itself on a terminal and is a line of its own elsewhere."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{line}")
    else:
        sys.stderr.write(line.rstrip("\n") + "\n")
    sys.stderr.flush()


# --- terminal --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what its assets showed: for each asset its metadata by name."""

    success: bool
    shown: dict[str, dict[str, Any]]


def execute(
    city: City, definitions: dg.Definitions, job: str, act: Act | None = None, *, anew: bool = False, **options: Any
) -> Ended:
    """Run a job, and say what failed.

    anew: whether what is published is to be published anew.
    """
    tags = {**this_process(), **tags_of(act, anew=anew), TERMINAL: "yes"}
    run = str(uuid.uuid4())
    if city.sealed:
        start_worker(run, Wall.of(city))  # imports the code while others work
    try:
        open_instance(city)
        with dg.DagsterInstance.get() as instance:
            result = definitions.resolve_job_def(own(city, job)).execute_in_process(
                instance=instance, raise_on_error=False, tags=tags, run_id=run, **options
            )
            if not result.success:
                _print_failures(result, instance)
    finally:
        end_worker()
    made = (event.materialization for event in result.all_events if event.is_step_materialization)
    shown = {it.asset_key.path[-1]: {name: of.value for name, of in it.metadata.items()} for it in made}
    return Ended(result.success, shown)


def _print_failures(result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> None:
    steps: dict[str, list[str]] = {}  # by what they say: several may stop for one reason
    for event in result.get_step_failure_events():
        steps.setdefault(_words(event.step_failure_data.error), []).append(str(event.step_key))
    for words, failed in steps.items():
        print(f"error: {', '.join(failed)}: {words}", file=sys.stderr)
    run = instance.get_run_by_id(result.run_id)
    called_off = run is not None and run.status is dg.DagsterRunStatus.CANCELED
    how = CALLED_OFF if called_off else "failed; nothing of the failed steps was kept"
    print(f"run {result.run_id} {how}", file=sys.stderr)


def _words(error: SerializableErrorInfo | None) -> str:
    """What an error says; of ours without the name of its class."""
    cause = error.cause if error and error.cause else error
    if cause is None:
        return "failed"
    message = cause.message.strip()
    return message.split(f"{cause.cls_name}: ", 1)[-1] if cause.cls_name in OURS else message
