"""What is said of an error of Spark: classes and what to do, never a message, which may quote a record."""

import pytest

from density_assets.errors import BadInput
from resources.sql.spark_session import clearly


class Thrown:
    """A Java exception, as Python sees it."""

    def __init__(self, name: str, cause: "Thrown | None" = None) -> None:
        self._name, self._cause = name, cause

    def getClass(self) -> "Thrown":  # noqa: N802
        return self

    def getName(self) -> str:  # noqa: N802
        return self._name

    def getCause(self) -> "Thrown | None":  # noqa: N802
        return self._cause


class Failed(OSError):
    def __init__(self, thrown: Thrown) -> None:
        super().__init__("record of ann: 2007-09-10")
        self.java_exception = thrown


def said(thrown: Thrown) -> str:
    with pytest.raises(BadInput) as refused, clearly("visits.sql"):
        raise Failed(thrown)
    return str(refused.value)


def test_a_jar_that_is_missing_is_named_by_what_java_did_not_find() -> None:
    words = said(Thrown("java.lang.RuntimeException", Thrown("java.lang.ClassNotFoundException")))
    assert "Spark gave Failed (java.lang.RuntimeException, caused by java.lang.ClassNotFoundException)" in words
    assert "give Spark the jars that it lacks (for s3:// those of hadoop-aws)" in words
    assert "ann" not in words


def test_any_other_error_asks_for_no_jars_and_causes_in_a_circle_end() -> None:
    circle = Thrown("java.io.IOException")
    circle._cause = circle
    assert said(circle).count("java.io.IOException") == 10
    assert "jars" not in said(circle)
