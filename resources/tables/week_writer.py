"""Writing one week of a confidential table, piece by piece."""

import json
import os
from datetime import date
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from resources.tables.stamps import Stamp

STAMP = b"density"  # key of the stamp in a file's metadata
ROW_GROUP = 250_000  # small enough that a bucket of users skips most of the file
SORTED_BY = ("user_id", "user_key")  # numbers that differ little from row to row, where they are numbers


class WeekWriter:
    """One week of a table on its way to disk.

    Row groups have one size however the rows come in, so equal content is equal bytes.
    """

    def __init__(self, file: Path, week: date, stamp: Stamp) -> None:
        self._file = file
        self._stamp = json.dumps(stamp, sort_keys=True).encode()
        self._week = pa.scalar(week, pa.date32())
        self._parquet: pq.ParquetWriter | None = None
        self._waiting: pa.Table | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Have every byte on disk if all went well, else leave no trace."""
        if error is None:
            self._finish()
        else:
            self._abandon()

    def write(self, rows: pa.Table) -> None:
        """Append rows; the first call fixes the columns, and must come even if there are no rows."""
        rows = rows.add_column(0, "week", pa.repeat(self._week, rows.num_rows)).replace_schema_metadata(
            {STAMP: self._stamp}
        )
        if self._parquet is None or self._waiting is None:
            self._parquet = _opened(self._file, rows.schema)
            self._waiting = rows
        else:
            self._waiting = pa.concat_tables([self._waiting, rows.cast(self._parquet.schema)])
        whole = self._waiting.num_rows // ROW_GROUP * ROW_GROUP
        if whole:
            self._parquet.write_table(self._waiting[:whole], row_group_size=ROW_GROUP)
            self._waiting = self._waiting[whole:]

    def _finish(self) -> None:
        if self._parquet is None or self._waiting is None:
            raise ValueError(f"nothing was written to {self._file.name}: an empty week still has columns")
        if self._waiting.num_rows:
            self._parquet.write_table(self._waiting)
        self._parquet.close()
        with self._file.open("rb+") as file:
            os.fsync(file.fileno())

    def _abandon(self) -> None:
        if self._parquet is not None:
            self._parquet.close()
        self._file.unlink(missing_ok=True)


def _opened(file: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """What sorts the rows is stored as differences, if it is numbers; of other columns few values come up again."""
    by_difference = [
        name for name in SORTED_BY if name in schema.names and pa.types.is_integer(schema.field(name).type)
    ]
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=[name for name in schema.names if name not in by_difference],
        column_encoding=dict.fromkeys(by_difference, "DELTA_BINARY_PACKED"),
    )
