"""The Dagster graph: the only package that imports Dagster."""
