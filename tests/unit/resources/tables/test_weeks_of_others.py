"""Weeks at a path or URL that others can reach: changed, forged, refused, erased or lying beside theirs."""

import errno
import json
import stat
from contextlib import nullcontext
from datetime import date

import fsspec
import pytest
from elsewhere import FRAME, NEXT, STAMP, WEEK, change, current, objects, part, read
from fsspec.asyn import sync_wrapper
from s3fs import S3FileSystem

from density_assets.errors import BadInput
from resources.tables.retention import purge
from resources.tables.store import Store


def damaged(store: Store, table: str = "visits", week: date = WEEK) -> str:
    with pytest.raises(BadInput, match="must be whole") as caught:
        store.read_week(table, week)
    return str(caught.value)


def test_what_was_changed_is_noticed(store, root):
    store.write_week("visits", WEEK, FRAME)
    content = bytearray(read(root, part(root)))
    for at in (5, len(content) // 2, len(content) - 5):
        spoiled = bytearray(content)
        spoiled[at] ^= 1
        change(root, part(root), bytes(spoiled))
        assert "it is not what was written" in damaged(store)
    change(root, part(root), bytes(content))
    assert store.read_week("visits", WEEK).equals(FRAME)
    system, inside = fsspec.core.url_to_fs(f"{root}/town", skip_instance_cache=True)
    system.rm(f"{inside}/{part(root)}")
    assert "a file of it is missing" in damaged(store)


def test_what_names_the_files_cannot_be_forged(store, root, tmp_path):
    store.write_week("visits", WEEK, FRAME)
    store.write_week("visits", NEXT, FRAME.head(1))
    genuine = json.loads(read(root, current(root)))
    forgeries = [
        {**genuine, "noted": {**genuine["noted"], "stamp": {"visits_per_user": 7}}},
        {**genuine, "seal": "0" * 32},
        json.loads(read(root, current(root, week=NEXT))),  # of another week
    ]
    for forged in forgeries:
        change(root, current(root), json.dumps(forged).encode())
        assert "was not written by this installation" in damaged(store)
    for nonsense in (b"", b"[]", b"null", b'{"noted": {}}', b"\xff"):
        change(root, current(root), nonsense)
        assert "what names its files cannot be read" in damaged(store)
    stranger = Store(tmp_path / "stranger", "town", None, root)
    change(root, current(root), json.dumps(genuine).encode())
    assert "was not written by this installation" in damaged(stranger)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_weeks_of_other_settings_are_refused(tmp_path, root):
    made = Store(tmp_path / "home", "town", STAMP, root)
    made._geography = (made.written("antennas", "cells", "overlaps"), {})
    made.write_week("other_table", WEEK, FRAME)
    changed = Store(tmp_path / "home", "town", {**STAMP, "visits_per_user": 40}, root)
    changed._geography = made._geography
    assert made.read_week("other_table", WEEK).equals(FRAME)
    with pytest.raises(BadInput, match="but visits_per_user was 30 and is 40"):
        changed.read_week("other_table", WEEK)


def test_a_week_that_a_check_refused_is_not_read_until_it_is_made_again(store):
    store.write_week("visits", WEEK, FRAME)
    store.refuse_week("visits", WEEK)
    with pytest.raises(BadInput, match="one found a fault of the software"):
        store.read_week("visits", WEEK)
    store.write_week("visits", WEEK, FRAME)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_erasing_a_week_leaves_nothing_of_it_and_all_of_others(store, root):
    for week in (WEEK, NEXT):
        store.write_week("visits", week, FRAME)
        store.write_week("tower_series", week, FRAME)
    store.refuse_week("tower_series", WEEK)
    erased = purge(store, WEEK, 1, force=True)
    assert len(erased) == 8  # the mark that one was refused lies in the home
    assert all(str(WEEK) in name for name in erased)
    assert not [name for name in objects(root) if str(WEEK) in name]
    with pytest.raises(BadInput, match="its confidential zone was erased"):
        store.read_week("visits", WEEK)
    assert store.read_week("visits", NEXT).equals(FRAME)
    assert purge(store, WEEK, 1, force=True) == [str(store.purge_note(WEEK))]


def test_files_of_a_path_are_readable_by_their_owner_only(tmp_path):
    store = Store(tmp_path / "home", "town", None, str(tmp_path / "elsewhere"))
    store.write_week("visits", WEEK, FRAME)
    for path in (tmp_path / "elsewhere").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_refused_week_stays_refused_when_its_mark_is_taken_away(store, root):
    store.write_week("visits", WEEK, FRAME)
    store.refuse_week("visits", WEEK)
    system, inside = fsspec.core.url_to_fs(f"{root}/town", skip_instance_cache=True)
    system.rm(f"{inside}/visits/{WEEK}/FAULTY")
    with pytest.raises(BadInput, match="one found a fault of the software"):
        store.read_week("visits", WEEK)
    store.write_week("visits", WEEK, FRAME)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_erasing_looks_wherever_weeks_were_ever_kept(tmp_path, store, root):
    store.write_week("visits", WEEK, FRAME)
    moved = Store(tmp_path / "home", "town", None, str(tmp_path / "new place"))
    moved.write_week("visits", WEEK, FRAME)
    assert len(purge(moved, WEEK, 1, force=True)) == 6
    assert objects(root) == objects(str(tmp_path / "new place")) == []


def versioned(root: str):
    """What sees versions too, and the bucket."""
    system, inside = fsspec.core.url_to_fs(root, skip_instance_cache=True, use_listings_cache=False, version_aware=True)
    return system, inside.split("/")[0]


def forget_versions(root: str, week: date) -> None:
    """What a lifecycle rule does in its time."""
    system, bucket = versioned(root)
    system.make_bucket_versioned(bucket)  # moto removes versions of no other bucket
    for name in system.find(bucket, versions=True):
        if str(week) in name:
            _, file, version = system.split_path(name)
            system.call_s3("delete_object", Bucket=bucket, Key=file, VersionId=version)


@pytest.mark.parametrize("root", ["s3"], indirect=True)
def test_a_week_whose_versions_a_bucket_keeps_is_not_said_to_be_erased(store, root):
    """Nor when versions are switched off later, which leaves those that are there."""
    system, bucket = versioned(root)
    system.make_bucket_versioned(bucket)
    for week in (WEEK, WEEK, NEXT):
        store.write_week("visits", week, FRAME)
    kept = rf"nothing must be left .* but of those of {WEEK} {root}/town keeps 6 versions of them.* purge again"
    for switched in (True, False):
        system.make_bucket_versioned(bucket, switched)
        with pytest.raises(BadInput, match=kept):
            purge(store, WEEK, 1, force=True)
        assert json.loads(store.purge_note(WEEK).read_text())["kept"] == [f"{root}/town keeps 6 versions of them"]
    assert not [name for name in objects(root) if str(WEEK) in name]
    forget_versions(root, WEEK)
    purge(store, WEEK, 1, force=True)
    assert json.loads(store.purge_note(WEEK).read_text())["kept"] == []
    assert store.read_week("visits", NEXT).equals(FRAME)
    system.rm(bucket, recursive=True)
    purge(store, NEXT, 1, force=True)  # what is gone with its bucket keeps nothing


@pytest.mark.parametrize("root", ["s3"], indirect=True)
@pytest.mark.parametrize(("answer", "said"), [(PermissionError("no"), True), (OSError(errno.ENOSYS, "no such"), False)])
def test_a_bucket_that_does_not_list_versions_is_named(store, root, monkeypatch, answer, said):
    store.write_week("visits", WEEK, FRAME)
    find = S3FileSystem.find

    def refused(system, path, **options):
        if options.get("versions"):
            raise answer
        return find(system, path, **options)

    monkeypatch.setattr(S3FileSystem, "find", refused)
    with pytest.raises(BadInput, match=r"does not say which versions .* \(PermissionError") if said else nullcontext():
        purge(store, WEEK, 1, force=True)
    assert objects(root) == []


def begun_upload(root: str, week: date, city: str = "town") -> tuple[str, str]:
    """What a writer leaves that is killed while it sends a large file in parts."""
    system, inside = fsspec.core.url_to_fs(f"{root}/{city}/visits/{week}/killed/0.parquet", skip_instance_cache=True)
    bucket, _, key = inside.partition("/")
    number = system.call_s3("create_multipart_upload", Bucket=bucket, Key=key)["UploadId"]
    system.call_s3("upload_part", Bucket=bucket, Key=key, UploadId=number, PartNumber=1, Body=b"records")
    return key, number


@pytest.mark.parametrize("root", ["s3"], indirect=True)
def test_a_week_is_not_said_to_be_erased_while_parts_of_it_can_be_put_together(store, root):
    """They are no objects, and can still be made one."""
    store.write_week("visits", WEEK, FRAME)
    begun_upload(root, NEXT)
    begun_upload(root, WEEK, "village")
    key, number = begun_upload(root, WEEK)
    with pytest.raises(BadInput, match="keeps 1 uploads of them that were never finished"):
        purge(store, WEEK, 1, force=True)
    system, bucket = versioned(root)
    system.call_s3("abort_multipart_upload", Bucket=bucket, Key=key, UploadId=number)  # as a rule of the store does
    purge(store, WEEK, 1, force=True)


@pytest.mark.parametrize("root", ["s3"], indirect=True)
@pytest.mark.parametrize(("answer", "said"), [(PermissionError("no"), True), (OSError(errno.ENOSYS, "no such"), False)])
def test_a_bucket_that_does_not_list_parts_is_named(store, root, monkeypatch, answer, said):
    store.write_week("visits", WEEK, FRAME)
    call = S3FileSystem._call_s3

    async def refused(system, method, *words, **options):
        if method == "list_multipart_uploads":
            raise answer
        return await call(system, method, *words, **options)

    monkeypatch.setattr(S3FileSystem, "_call_s3", refused)
    monkeypatch.setattr(S3FileSystem, "call_s3", sync_wrapper(refused))
    with pytest.raises(BadInput, match=r"does not say which uploads.*PermissionError") if said else nullcontext():
        purge(store, WEEK, 1, force=True)
    assert objects(root) == []


def test_cities_that_share_a_place_leave_each_other_alone(tmp_path, store, root):
    other = Store(tmp_path / "home", "village", None, root)
    store.write_week("visits", WEEK, FRAME)
    other.write_week("visits", WEEK, FRAME.head(1))
    purge(other, WEEK, 1, force=True)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_nonsense_beside_weeks_has_no_view_and_stops_nobody(tmp_path):
    store = Store(tmp_path / "home", "town", None, str(tmp_path / "elsewhere"))
    stray = tmp_path / "elsewhere" / "town" / "other" / str(WEEK) / "CURRENT"
    stray.parent.mkdir(parents=True)
    stray.write_text("{}")
    store.write_week("visits", WEEK, FRAME)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_weeks_are_not_kept_where_others_read(tmp_path):
    with pytest.raises(BadInput, match="must not be a folder of the home that others may read"):
        Store(tmp_path, "town", None, str(tmp_path / "town" / "release"))
