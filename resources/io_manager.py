"""Passes tables between assets: confidential ones by week, public ones whole."""

from datetime import date

import dagster as dg
import polars as pl

from resources.store import Store


class TableIOManager(dg.IOManager):
    """Stores each asset's table where its zone says."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def handle_output(self, context: dg.OutputContext, obj: pl.DataFrame | None) -> None:
        """Replace the asset's table, or its week of it; nothing to do where SQL has stored it already."""
        if obj is None:
            return
        table = context.definition_metadata["table"]
        if context.has_asset_partitions:
            self._store.write_week(table, date.fromisoformat(context.asset_partition_key), obj)
        else:
            self._store.write_public(table, obj)

    def load_input(self, context: dg.InputContext) -> pl.DataFrame:
        """The upstream asset's table, or its week of it."""
        assert context.upstream_output is not None  # assets only
        table = context.upstream_output.definition_metadata["table"]
        if context.has_asset_partitions:
            return self._store.read_week(table, date.fromisoformat(context.asset_partition_key))
        return self._store.read_public(table)
