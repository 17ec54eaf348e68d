"""What a reader of a release sees: one page, with no science in it."""
