"""Names and texts inside SQL, where they cannot be bound as parameters."""


def quoted(name: str) -> str:
    """A column or table name, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def backquoted(name: str) -> str:
    """The same as Spark writes it."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text constant."""
    return "'" + text.replace("'", "''") + "'"
