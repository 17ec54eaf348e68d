"""Differentially private population densities: the science, the graph and the commands."""

import os

from density_assets.packages import refuse_others

# Matrices here are small: threads of linear algebra wait for each other longer than they compute, eight times as long
# where others use the cores as well. One thread also adds up in one order, whatever the machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

refuse_others()
