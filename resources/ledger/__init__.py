"""What every release has cost."""
