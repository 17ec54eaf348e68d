"""The command `density`."""
