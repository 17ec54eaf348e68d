"""Pictures for studies and assets."""
