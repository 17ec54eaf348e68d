"""The function `user_key` of `events.sql`, as each engine is told it: the one thing that SQL cannot say for both.

The key of an identifier is its MD5 as a number of 128 bits, little end first, modulo a prime
(`docs/decisions/0003-the-user-key.md`). 2^32 is 138 modulo that prime, so the words of 32 bits of which the number
consists can be reduced by themselves: w0 + 138 w1 + 138^2 w2 + 138^3 w3 leaves the same remainder, and no product
passes 2^54. DuckDB takes the remainder of 128 bits too, but in fifteen times the time; Spark has no such numbers.
"""

from resources.sql.engine import KEYS

WORD = pow(2, 32, KEYS)
DIGITS = 8  # of a word in hexadecimal
LOW = 2**64 - 1

IN_DUCKDB = f"""create or replace temp macro user_key(identifier) as cast((
  cast(md5_number(identifier) >> 64 as ubigint) % {KEYS} * {WORD**2}
  + cast(md5_number(identifier) & {LOW} as ubigint) % {KEYS}
) % {KEYS} as bigint)"""


def _word(number: int) -> str:
    """A word of the digest; its last byte comes first."""
    starts = range(DIGITS * number + DIGITS - 1, DIGITS * number, -2)
    return (
        f"cast(conv(concat({', '.join(f'substr(md5(identifier), {start}, 2)' for start in starts)}), 16, 10) as bigint)"
    )


IN_SPARK = f"""create or replace temporary function user_key(identifier string) returns bigint return (
  {" + ".join(f"{_word(number)} * {WORD**number}" for number in range(4))}
) % {KEYS}"""
