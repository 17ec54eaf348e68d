"""Event files of operators: finding and reading them."""
