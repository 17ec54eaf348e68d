"""What a killed writer leaves in a bucket beside objects: the parts of a large one that was never put together.

No listing of objects names them, and whoever has their number can still make them one. Writers send what is larger than
some 100 MB in parts.
"""

import errno
from contextlib import suppress
from datetime import date
from typing import Any

from fsspec import AbstractFileSystem

from density_assets.records.found_files import store_of


def uploads_at(root: str, week: date) -> str:
    """Remove unfinished uploads of a week at a place; says in words which are left, and nothing if none is.

    root: where weeks of a city lie; only S3 has any.
    """
    system, inside = store_of(root, "storage.weeks")
    if not hasattr(system, "call_s3"):
        return ""
    try:
        for upload in _unfinished(system, inside, week):
            with suppress(FileNotFoundError):  # somebody else removed it
                system.call_s3("abort_multipart_upload", **upload)
        left = len(_unfinished(system, inside, week))  # a part that was on its way may have come meanwhile
    except FileNotFoundError:  # the bucket is gone
        return ""
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSYS:  # a store that takes objects whole
            return ""
        return (
            f"{root} does not let uploads of them be removed that were never finished ({type(error).__name__}; "
            "s3:ListBucketMultipartUploads, s3:AbortMultipartUpload)"
        )
    return f"{root} keeps {left} uploads of them that were never finished" if left else ""


def _unfinished(system: AbstractFileSystem, inside: str, week: date) -> list[dict[str, str]]:
    """What names each of a week, however many pages a store tells them on."""
    bucket, _, prefix = inside.partition("/")
    found: list[dict[str, str]] = []
    after: dict[str, str] | None = {}
    while after is not None:
        page: dict[str, Any] = system.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=f"{prefix}/", **after)
        found += [{"Key": one["Key"], "UploadId": one["UploadId"]} for one in page.get("Uploads", ())]
        more = page.get("IsTruncated")
        after = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]} if more else None
    return [{"Bucket": bucket, **one} for one in found if f"/{week}/" in one["Key"]]
