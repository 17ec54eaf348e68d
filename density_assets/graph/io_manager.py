"""Passes tables between assets: confidential weeks as files, everything that may be known in the release database."""

from collections.abc import Callable
from datetime import date

import dagster as dg
import polars as pl

from resources.faults import in_clear_words
from resources.tables.store import Store

CONFIDENTIAL = ("confidential", "evaluation")  # zones whose tables never reach the release database


class TableIOManager(dg.IOManager):
    """Stores each asset's table where its zone says."""

    def __init__(self, store: Store, release_name: Callable[[str], str]) -> None:
        """release_name: what today's settings call the release of a week."""
        self._store = store
        self._release_name = release_name

    def handle_output(self, context: dg.OutputContext, obj: pl.DataFrame | None) -> None:
        """Replace the asset's table, or its week of it; nothing to do where SQL has stored it already."""
        if obj is None:
            return
        table, week = context.definition_metadata["table"], _week(context)
        if week is None and context.definition_metadata["zone"] in CONFIDENTIAL:
            raise ValueError(f"{table} is confidential, so it must have one file per week: only these can be erased")
        with in_clear_words(self._store.folder):
            if week is None:
                self._store.write_public(table, obj)
            elif context.definition_metadata["zone"] in CONFIDENTIAL:
                self._store.write_week(table, week, obj)
            else:
                self._store.write_release_week(table, week, obj, self._release_name(str(week)))

    def load_input(self, context: dg.InputContext) -> pl.DataFrame:
        """The upstream asset's table, or its week of it."""
        assert context.upstream_output is not None  # assets only
        upstream, week = context.upstream_output.definition_metadata, _week(context)
        if week is None:
            return self._store.read_public(upstream["table"])
        if upstream["zone"] in CONFIDENTIAL:
            return self._store.read_week(upstream["table"], week)
        return self._store.read_release_week(upstream["table"], week, self._release_name(str(week)))


def _week(context: dg.InputContext | dg.OutputContext) -> date | None:
    return date.fromisoformat(context.asset_partition_key) if context.has_asset_partitions else None
