"""The bench for weeks that learn from weeks: cities over many weeks, trials of change, any sums, small cities."""
