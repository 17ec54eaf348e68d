"""Outside things behind an interface: tables, SQL, ledger, measurements. Of density-assets."""

PART_OF = "density-assets"  # by which `density_assets/packages.py` tells it from another package of this name
