"""One SELECT per file; the file name is the table name and FROM names the tables it needs."""

PART_OF = "density-assets"  # by which `density_assets/packages.py` tells it from another package of this name
