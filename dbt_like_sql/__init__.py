"""One SELECT per file; the file name is the table name and FROM names the tables it needs."""
