"""The command `density`: one file per panel of its help, each command a thin call of the layers below.

Commands import what they need when they run, so that `--help` waits for neither Dagster nor a data frame.
"""
