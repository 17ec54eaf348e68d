"""What must hold of tables and releases, as functions of their values; the graph turns these into asset checks."""
