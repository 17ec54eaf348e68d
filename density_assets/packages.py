"""The packages that are installed with this one under names that others may use: `resources` is anybody's word.

Python takes the first package of a name that it finds. If that is another one, it is said here, before anything is
imported from it: what would come later is a missing module at best, and somebody else's code at worst.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

OURS = "density-assets"
NAMES = ("resources", "dbt_like_sql")


def refuse_others() -> None:
    """Raise if a package of these names is not the one that was installed with this one."""
    for name in NAMES:
        try:
            found = import_module(name)
        except ModuleNotFoundError:
            raise ImportError(f"{_rule(name)}, but there is none: install density-assets anew") from None
        # A file of ours may have been overwritten in its place, and one of another version lies elsewhere.
        if getattr(found, "PART_OF", None) != OURS or _beside(name) not in _folders(found):
            where = ", ".join(map(str, _folders(found)))
            raise ImportError(
                f"{_rule(name)}, but Python finds {where}: start in another folder or take that one out of PYTHONPATH; "
                f"if another distribution brought it, install density-assets in an environment of its own"
            )


def _rule(name: str) -> str:
    return f"the package `{name}` must be that of density-assets, beside {_beside('density_assets')}"


def _beside(name: str) -> Path:
    return Path(__file__).resolve().parents[1] / name


def _folders(package: ModuleType) -> list[Path]:
    """Where a package lies; a module of one file has no folder."""
    places = getattr(package, "__path__", None) or [package.__file__ or package.__name__]
    return [Path(place).resolve() for place in places]
