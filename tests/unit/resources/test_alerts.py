"""Alerts arrive, or are kept; they never raise."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from density_assets.errors import BadInput
from density_assets.settings import AlertSettings, Settings, load_settings
from resources.alerts import Alert, deliver, quotable

ALERT = Alert("2007-09-17T06:00:00+00:00", "town", "weekly_release", "2007-09-10", "run", "visits", "no files")


@pytest.fixture
def webhook():
    """An address on this machine and what it received."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook/token", received
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_alert_goes_to_the_file_and_the_webhook(tmp_path, webhook):
    address, received = webhook
    settings = Settings(alerts=AlertSettings(file="new/alerts.jsonl", webhook=address), folder=tmp_path)
    for _ in range(2):
        assert deliver(ALERT, settings, tmp_path / "undelivered") == []
    lines = (tmp_path / "new/alerts.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == received
    assert len(received) == 2
    assert received[0]["step"] == "visits"
    assert not (tmp_path / "undelivered").exists()


def test_what_cannot_be_delivered_is_kept_and_the_token_is_not_told(tmp_path, webhook):
    closed = "http://127.0.0.1:1/hook/token"
    settings = Settings(alerts=AlertSettings(file=tmp_path, webhook=closed), folder=tmp_path)  # a folder, not a file
    problems = deliver(ALERT, settings, tmp_path / "undelivered")
    assert len(problems) == 2
    assert "token" not in " ".join(problems)
    assert json.loads((tmp_path / "undelivered").read_text())["run"] == "run"


def test_even_a_full_disk_does_not_make_it_raise(tmp_path):
    settings = Settings(alerts=AlertSettings(file=tmp_path), folder=tmp_path)
    assert len(deliver(ALERT, settings, tmp_path)) == 2


@pytest.mark.parametrize(
    ("error", "message", "said"),
    [
        ("BadInput", "density_assets.errors.BadInput: the week must be there\n", "the week must be there"),
        ("BadInput", "density_assets.errors.BadInput: " + "x" * 1000, "x" * 500),
        ("ConversionException", "Could not convert '0612345678'", "ConversionException: see the page of the run"),
        (None, "0612345678", "error: see the page of the run"),
    ],
)
def test_only_errors_of_ours_are_quoted(error, message, said):
    assert quotable(error, message) == said


@pytest.mark.parametrize("address", ["ftp://example.org", "alerts.example.org", "file:///etc/passwd"])
def test_a_webhook_must_be_an_address_of_the_web(tmp_path, address):
    (tmp_path / "s.toml").write_text(f'[alerts]\nwebhook = "{address}"\n')
    with pytest.raises(BadInput, match=r"alerts\.webhook"):
        load_settings(tmp_path / "s.toml")
