"""The public geography of a city: its cells, its towers, and how they overlap."""
