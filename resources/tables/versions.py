"""What a bucket keeps of a week that was erased: to remove an object of one that has versions only hides it.

A bucket whose versions were switched off later keeps those it has. So it is asked for them, not whether it has any now.
"""

import errno
from datetime import date

from density_assets.records.found_files import store_of


def versions_at(root: str, week: date) -> str:
    """Which versions of erased files of a week lie at a place, in words; empty if none, or if its store cannot say.

    root: where weeks of a city lie; only S3 can say.
    """
    system, inside = store_of(root, "storage.weeks")
    if not hasattr(system, "is_bucket_versioned"):
        return ""
    system, inside = store_of(root, "storage.weeks", version_aware=True)
    try:
        names = system.find(inside, versions=True)
    except FileNotFoundError:  # the bucket is gone
        return ""
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSYS:  # a store without versions
            return ""
        return f"{root} does not say which versions of them it keeps ({type(error).__name__}; s3:ListBucketVersions)"
    kept = sum(f"/{week}/" in name for name in names)
    return f"{root} keeps {kept} versions of them" if kept else ""
