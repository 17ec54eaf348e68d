"""What `deploy/` tells others to run exists, is pinned, and holds nothing secret."""

import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import typer
import yaml
from documented import documented

from density_assets.cli.app import app
from density_assets.packages import NAMES
from density_assets.publication.software import COMMIT
from density_assets.settings import Settings
from density_assets.settings.environment import HOME
from resources.ledger.postgres_tables import SERVICE
from resources.ledger.sqlite import shared_book

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMMANDS = typer.main.get_command(app).commands
VARIABLES = {HOME, "DENSITY_SETTINGS", "PGPASSFILE", "PGPASSWORD", "POSTGRES_PASSWORD_FILE", "POSTGRES_INITDB_ARGS"}
VERSION = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
DAGSTER = re.search(r"^dagster==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[1]
COMPOSE_SPEC = ("check-jsonschema", "--builtin-schema", "vendor.compose-spec")  # it brings the schema


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def helm():
    return yaml.safe_load((DEPLOY / "helm-values.yaml").read_text())


def images(value) -> list[tuple[str, str]]:
    """Every image that is named somewhere in a file, with its tag."""
    if isinstance(value, list):
        return [found for one in value for found in images(one)]
    if not isinstance(value, dict):
        return []
    here = value.get("image")
    if isinstance(here, str):
        name, _, tag = here.rpartition(":")
        return [(name, tag), *images([inner for key, inner in value.items() if key != "image"])]
    if {"repository", "tag"} <= value.keys():
        return [(value["repository"], str(value["tag"]))]
    return images(list(value.values()))


def secret_files(compose) -> list[str]:
    """Where people put passwords, seen from the root of the repository."""
    return [f"deploy/{secret['file']}" for secret in compose["secrets"].values()]


def refuse_unknown(words: list[str]) -> None:
    """Raise if a command or an option of it is not ours; a value may follow an option."""
    command = COMMANDS[words[0]]
    options = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words[1:] if word.startswith("--")} <= options


def test_images_are_pinned_by_version(compose, helm):
    named = images(compose) + images(helm)
    assert len(named) == 6
    for name, tag in named:
        assert re.match(r"\d+\.\d+", tag), name
        if name.endswith("density-assets"):
            assert tag == VERSION
        elif "dagster" in name:
            assert tag == DAGSTER
    assert f"--version {DAGSTER} " in (DEPLOY / "helm-values.yaml").read_text()


def test_services_run_commands_that_exist(compose):
    ours = [service for service in compose["services"].values() if "density" in service["image"]]
    assert len(ours) == 2
    for service in ours:
        refuse_unknown(service["command"])
        assert service["environment"].keys() <= VARIABLES
    tables = compose["services"]["tables"]["command"]
    assert tables[:2] == ["ledger", "tables"]
    assert tables[tables.index("--service") + 1] == SERVICE


def test_the_chart_gets_our_definitions_and_variables(helm):
    (deployment,) = helm["dagster-user-deployments"]["deployments"]
    assert deployment["dagsterApiGrpcArgs"] == ["--module-name", "density_assets.definitions"]
    assert {one["name"] for one in deployment["env"]} <= VARIABLES
    assert [one["name"] for one in deployment["env"] if "valueFrom" in one] == ["PGPASSWORD"]
    mounted = {one["name"] for one in deployment["volumeMounts"]}
    assert mounted == {one["name"] for one in deployment["volumes"]}
    assert helm["dagsterWebserver"]["enableReadOnly"] is True
    assert helm["telemetry"]["enabled"] is False


def test_nothing_secret_stands_in_what_is_deployed(compose):
    text = "".join(file.read_text() for file in sorted(DEPLOY.iterdir()) if file.is_file())
    assert not re.findall(r"://[^\s/@]+:[^\s/@]+@", text)  # a password in an address
    given = re.findall(r"(?im)^\s*-?\s*(\w*password\w*)\s*[:=]\s*(\S+)", text)
    assert set(given) == {
        ("POSTGRES_PASSWORD_FILE", "/run/secrets/superuser"),
        ("generatePostgresqlPasswordSecret", "false"),
    }
    assert "encrypted password" not in text


# --- the image --------------------------------------------------------------------------------------------------------


PACKAGES = ("density_assets", *NAMES)
INSTALLING = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE")


def test_an_image_is_made_of_the_packages_and_never_of_a_password():
    """A layer that holds one gives it to whoever gets the image, even if a later step removes it.

    Of patterns the last that fits a file counts: all is left out, then what is needed is not, then some of that is.
    """
    needed = {*INSTALLING, *PACKAGES}
    first, *others, last = (ROOT / ".dockerignore").read_text().splitlines()[1:]
    assert (first, last) == ("*", "**/__pycache__")
    assert set(others) == {f"!{name}" for name in needed}
    copied = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert {name for names in copied for name in names.split()} == needed


def test_git_takes_no_password(compose):
    names = secret_files(compose)
    assert all(name.startswith("deploy/secrets/") for name in names)
    asked = subprocess.run(["git", "check-ignore", *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert asked.stdout.split() == names


def test_the_image_says_which_commit_it_was_made_of(compose):
    """No repository lies around it."""
    builds = [service["build"] for service in compose["services"].values() if "build" in service]
    assert [build["args"] for build in builds] == [[COMMIT], [COMMIT]]
    said = (DEPLOY / "Dockerfile").read_text()
    assert f"ARG {COMMIT}\nENV {COMMIT}=${COMMIT} " in said


def lint(*command: str | Path) -> subprocess.CompletedProcess[str]:
    words = [str(Path(sys.executable).parent / command[0]), *map(str, command[1:])]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("file", "command", "right", "wrong"),
    [
        ("Dockerfile", ("hadolint",), "USER 1000", "USER root"),
        ("Dockerfile", ("hadolint",), "WORKDIR /", "WORKDIR "),
        ("compose.yaml", COMPOSE_SPEC, "    secrets: [owner]", "    secret: [owner]"),
        ("compose.yaml", COMPOSE_SPEC, "condition: service_healthy", "condition: service_is_well"),
    ],
)
def test_linters_find_nothing_and_would(tmp_path, file, command, right, wrong):
    assert (good := lint(*command, DEPLOY / file)).returncode == 0, good.stdout
    text = (DEPLOY / file).read_text()
    assert right in text
    (tmp_path / file).write_text(text.replace(right, wrong))
    assert lint(*command, tmp_path / file).returncode == 1


# --- roles and words --------------------------------------------------------------------------------------------------


def test_roles_are_those_that_tables_and_documents_name(compose):
    roles = set(re.findall(r"create role (\w+)", (DEPLOY / "roles.sql").read_text()))
    assert roles == {"density_owner", SERVICE, "density_dagster"}
    page = (ROOT / "docs" / "deployment.md").read_text()
    assert set(re.findall(r"postgresql://(\w+)@", page)) <= roles


def test_what_the_page_says_to_type_and_to_write_exists():
    lines = [
        line.partition(" #")[0].strip() for block in documented("deployment.md", "sh") for line in block.splitlines()
    ]
    commands = [shlex.split(line.split(" | ")[0]) for line in lines if line.startswith("density ")]
    assert len(commands) == 7
    for words in commands:
        refuse_unknown(words[1:])
    (written,) = documented("deployment.md", "toml")
    settings = Settings.model_validate(tomllib.loads(written))
    assert settings.ledger.url
    assert settings.dagster.storage


def test_roles_can_be_made_on_a_real_server(postgres):
    statements = [line for line in (DEPLOY / "roles.sql").read_text().split(";") if line.strip()]
    statements = [line.replace(f"create role {SERVICE} login", "select 1") for line in statements]  # there already
    for statement in statements:
        postgres.run(statement)
    ledger = replace(postgres, database="ledger")
    ledger.run("select 1", "density_owner")
    shared_book(ledger.url("density_owner")).make_tables(SERVICE)
    with shared_book(ledger.url(SERVICE)).writing() as writer:
        assert writer.read() == []
