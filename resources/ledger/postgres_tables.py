"""The tables of a ledger in PostgreSQL, and who may do what with them: SQL that their owner runs once.

The owner has the tables; the service, which charges, may read and add. It cannot change or remove a row, and neither
can whoever learns its password. Triggers stop the owner's own slips; what an owner does on purpose, the chain shows.
"""

import re

from density_assets.errors import BadInput

SERVICE = "density_service"
TABLES = ("entries", "draws")
_ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")  # needs no quotes, so none can be left out

_SQL = """\
do $$ begin
    if not exists (select from pg_roles where rolname = '{service}') then
        create role {service} login;
    end if;
end $$;

create schema if not exists density;

create table if not exists density.entries (
    row bigint primary key check (row > 0),  -- one more than the last: a sequence would leave gaps
    format integer not null,
    kind text not null,
    at text not null,                        -- the day, UTC
    body text not null,                      -- what the entry says, as JSON; jsonb would order its keys anew
    previous text not null unique,           -- a writer that forgets the lock cannot fork the chain
    hash text not null unique
);

create table if not exists density.draws (  -- files of draws, so that every machine finds what another drew
    charge text primary key,                -- hash of the charge that paid for it
    entry bigint not null references density.entries (row),  -- the entry that says its digest
    content bytea not null
);

create or replace function density.append_only() returns trigger language plpgsql as
$$ begin raise exception 'the ledger is append-only'; end $$;
"""

_FOR_EACH_TABLE = """
create or replace trigger append_only before update or delete or truncate on density.{table}
    for each statement execute function density.append_only();
revoke all on density.{table} from public, {service};
grant select, insert on density.{table} to {service};
"""

_REST = """
revoke all on schema density from public, {service};
grant usage on schema density to {service};
"""


def tables_sql(service: str = SERVICE) -> str:
    """What the owner of a database runs once, by any means: it may be run again, and changes no row.

    service: the role that charges; made if it is not there, without a password.
    """
    if not _ROLE.fullmatch(service):
        raise BadInput(
            "the role of the service must be named by lower-case letters, digits and _, beginning with a letter, "
            f"got {service!r}: give another name by --service"
        )
    guarded = (_FOR_EACH_TABLE.format(table=table, service=service) for table in TABLES)
    return "".join((_SQL.replace("{service}", service), *guarded, _REST.format(service=service)))
