"""The SELECTs of `dbt_like_sql/` as Spark reads them.

sqlglot writes the dialect. One thing has no counterpart: `md5_number`, the digest of a text as a number of 128 bits,
little end first, of which user keys are the remainder modulo a prime. Spark has no such numbers. 2^32 is 138 modulo
that prime, so of the digest as four words of 32 bits, w0 + 138 w1 + 138^2 w2 + 138^3 w3 leaves the same remainder, and
stays below 2^54.
"""

from functools import cache

import sqlglot
from sqlglot import exp

from resources.sql.engine import KEYS
from resources.sql.models import Model

WORD = pow(2, 32, KEYS)
DIGITS = 8  # of a word


def spark_sql(query: Model) -> str:
    """A model for Spark. Its rows are in no order: files of a folder have none, and to sort them costs a shuffle."""
    return _translated(query.sql)


@cache
def _translated(sql: str) -> str:
    tree = sqlglot.parse_one(sql, dialect="duckdb").transform(_user_key)
    tree.set("order", None)
    return tree.sql(dialect="spark", comments=False)


def _user_key(node: exp.Expr) -> exp.Expr:
    """`md5_number(text) % prime`, wherever it stands."""
    if not (isinstance(node, exp.Mod) and isinstance(node.this, exp.Anonymous) and node.this.name == "md5_number"):
        return node
    if node.expression.name != str(KEYS):
        raise ValueError(f"md5_number must be taken modulo {KEYS}, got {node.expression.sql()}: nothing else is known")
    digest = f"md5({node.this.expressions[0].sql(dialect='spark')})"
    words = " + ".join(f"{_word(digest, number)} * {WORD**number}" for number in range(4))
    return exp.paren(sqlglot.parse_one(f"({words}) % {KEYS}", dialect="spark"))


def _word(digest: str, number: int) -> str:
    """A word of a digest in hexadecimal digits; its last byte comes first."""
    starts = range(DIGITS * number + DIGITS - 1, DIGITS * number, -2)
    return f"cast(conv(concat({', '.join(f'substr({digest}, {start}, 2)' for start in starts)}), 16, 10) as bigint)"
