"""How a run looks on a terminal."""

import logging
import sys
import time

import dagster as dg

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
