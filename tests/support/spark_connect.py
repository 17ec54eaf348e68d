"""A server of Spark Connect on loopback, for as long as a test needs it, and what a process of its own finds there."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines import SETTINGS, assert_agree
from object_store import free_port, wait_for
from random_records import random_records

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """The address of the server of the installed package, which spills into a folder."""
    import pyspark  # an extra

    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.sql.shuffle.partitions": 4,
        "spark.sql.warehouse.dir": folder,
        "spark.ui.enabled": "false",
    }
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    told = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    process = subprocess.Popen(
        [submit, "--master", "local[2]", *told, "--class", SERVER, "spark-internal"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(port, process)
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def agrees(folder: str, address: str, seed: int) -> int:
    """Whether the same is said of random records over Spark Connect as on DuckDB; a process has one kind of Spark."""
    week, files, city = random_records(Path(folder) / "records", seed)
    said = assert_agree(Path(folder), week, files, city, SETTINGS.model_copy(update={"master": address}))
    return 0 if len(said["visits"]) else 3
