"""What the address of a ledger may be, and that nobody shows the password in it."""

import pytest

from density_assets.errors import BadInput
from density_assets.settings import Settings, load_settings
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger
from resources.ledger.sqlite import SqliteBook, book_at, book_of


def test_a_list_of_connection_words_is_no_file():
    with pytest.raises(BadInput, match="got a list of connection words") as said:
        book_at("host=db password=secret dbname=ledger")
    assert "secret" not in str(said.value)


def test_no_message_shows_a_password(postgres, tmp_path):
    secret = "pass%40word"
    addresses = [
        f"postgresql://ann:{secret}@127.0.0.1:1/ledger",
        f"postgresql://ann:{secret}@127.0.0.1:{postgres.port}/nothing",
        f"postgresql://ann:{secret}@[::1/ledger",
        f"postgresql://ann:{secret}@127.0.0.1:x/ledger",
        f"postgresql://ann@127.0.0.1:{postgres.port}/nothing?password={secret}&nonsense=1",
        f"postgresql://ann:half@word@127.0.0.1:{postgres.port}/ledger",
        f"postgresql://ann:1234/word@127.0.0.1:{postgres.port}/ledger",
    ]
    for address in addresses:
        with pytest.raises((LedgerError, BadInput)) as said:
            Ledger(tmp_path, book_at(address)).accounts()
        assert not [word for word in ("pass%40word", "pass@word", "word@") if word in str(said.value)]
        assert said.value.__cause__ is None


@pytest.mark.parametrize("table", ['ledger]\nurl = "{}"', 'dagster]\nstorage = "{}"'])
@pytest.mark.parametrize("address", ["mysql://ann:secret@h/d", "ann:secret@h", "postgresql://ann:secret@h:port/d"])
def test_settings_refuse_what_is_no_address_without_repeating_it(tmp_path, table, address):
    file = tmp_path / "town.toml"
    file.write_text("[" + table.format(address))
    with pytest.raises(BadInput, match="must be the address of a PostgreSQL database") as said:
        load_settings(file)
    assert "secret" not in str(said.value)


def test_another_kind_of_address_is_no_file():
    with pytest.raises(BadInput, match="got another kind of address") as said:
        book_at("postgres://ann:secret@h/d")
    assert "secret" not in str(said.value)


def test_settings_do_not_show_an_address(tmp_path):
    file = tmp_path / "town.toml"
    file.write_text('[ledger]\nurl = "postgresql://ann:secret@h/d"\n[dagster]\nstorage = "postgresql://b:secret@h/e"')
    settings = load_settings(file)
    assert settings.ledger.url.get_secret_value() == "postgresql://ann:secret@h/d"
    assert "secret@" not in repr(settings) + str(settings.model_dump()) + settings.model_dump_json()
    assert settings.without_databases().ledger.url is settings.without_databases().dagster.storage is None


def test_without_the_extra_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "resources.ledger.postgres", None)
    with pytest.raises(BadInput, match=r"needs psycopg, .* pip install 'density-assets\[postgres\]'"):
        book_at("postgresql://h/d")


def test_by_default_the_ledger_is_a_file_of_the_home(tmp_path):
    assert isinstance(book_of(Settings(), tmp_path), SqliteBook)
