"""JUnit reports, from good ones to those that are made to do harm."""

from __future__ import annotations

import io
import os
import random
import threading
from contextlib import suppress
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.autofix import junit
from indult.autofix.junit import read_junit
from indult.autofix.signals import MAX_DETAIL, Sighting
from indult.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="shop" tests="4">
  <testcase classname="tests.test_cart" name="test_total" file="tests/test_cart.py" time="0.1">
    <failure message="assert 3 == 4">def test_total():
&gt;       assert 3 == 4
E       assert 3 == 4</failure>
  </testcase>
  <testcase classname="tests.test_cart" name="test_fine"><system-out>error failure</system-out></testcase>
  <testcase classname="tests.test_db" name="test_open"><error type="OSError"><![CDATA[no <db>]]></error></testcase>
  <testcase classname="tests.test_db" name="test_skipped"><skipped message="not now"/></testcase>
</testsuite></testsuites>
"""


def read(report: str | bytes) -> list[Sighting]:
    """Return the sightings of a report."""
    data = report.encode() if isinstance(report, str) else report
    return list(read_junit(io.BytesIO(data), name="report.xml"))


def case(inner: str, attributes: str = 'classname="a" name="b"') -> str:
    """Return a report of one test."""
    return f"<testsuite><testcase {attributes}>{inner}</testcase></testsuite>"


def test_failures_and_errors_are_sightings() -> None:
    """Tests that failed or ended in an error are seen; passed and skipped ones are not."""
    failure, error = read(REPORT)
    assert ("test", "tests.test_cart::test_total", "tests/test_cart.py", 1) == (
        failure.kind,
        failure.key,
        failure.source,
        failure.times,
    )
    assert "tests.test_cart::test_total: assert 3 == 4" == failure.summary
    assert "assert 3 == 4\ndef test_total():\n>       assert 3 == 4\nE       assert 3 == 4" == failure.detail
    assert ("tests.test_db::test_open: OSError", "tests.test_db") == (error.summary, error.source)
    assert "OSError\nno <db>" == error.detail


def test_one_test_is_one_sighting() -> None:
    """A test that failed and could not be torn down either is seen once, with both texts."""
    (found,) = read(case('<failure message="first">one</failure><error message="second">two</error>'))
    assert "a::b: first" == found.summary
    assert ["first", "one", "second", "two"] == found.detail.split()


@pytest.mark.parametrize(
    ("report", "key", "source"),
    [
        (case("<failure/>", 'name="b"'), "b", "report.xml"),
        (case("<failure/>", ""), "a test without a name", "report.xml"),
        ('<testsuite name="s"><error message="no"/></testsuite>', "s", "s"),
        ('<testsuite name="s" file="s.py"><error message="no"/></testsuite>', "s", "s.py"),
        ('<j:testsuite xmlns:j="x"><j:testcase name="b"><j:failure/></j:testcase></j:testsuite>', "b", "report.xml"),
    ],
    ids=["without a class", "without a name", "of a suite", "of a suite with a file", "with a prefix"],
)
def test_odd_reports(report: str, key: str, source: str) -> None:
    """What a report leaves out is made up for by what it says."""
    (found,) = read(report)
    assert (key, source) == (found.key, found.source)


def test_other_encodings() -> None:
    """A report may be in any encoding that XML readers know."""
    for encoding in ("utf-8", "utf-16", "iso-8859-1"):
        head = f'<?xml version="1.0" encoding="{encoding}"?>'
        (found,) = read((head + case('<failure message="très"/>')).encode(encoding))
        assert "a::b: très" == found.summary


DOCTYPE = '<!DOCTYPE testsuite [<!ENTITY a "{}">]>'
BROKEN: dict[str, str | bytes] = {
    "empty": "",
    "no XML": "tests passed",
    "JSON": "{}",
    "binary": random.Random(1).randbytes(100_000),
    "zeros": bytes(100_000),
    "compressed": b"\x1f\x8b\x08\x00" + bytes(100),
    "cut short": REPORT[: len(REPORT) // 2],
    "two roots": case("") + case(""),
    "a control character": case("<failure>\x00</failure>"),
    "invalid UTF-8": case("<failure>x</failure>").encode().replace(b"x", b"\xff\xfe"),
    "an encoding that nobody knows": '<?xml version="1.0" encoding="x-none"?>' + case(""),
    "an encoding of several bytes": '<?xml version="1.0" encoding="shift_jis"?>' + case(""),
    "another document": "<html><body/></html>",
    "a DOCTYPE": "<!DOCTYPE testsuite>" + case(""),
    "an entity": DOCTYPE.format("x") + case("<failure>&a;</failure>"),
    "an entity from outside": '<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + case("<failure>&a;</failure>"),
    "an entity that is not declared": case("<failure>&nbsp;</failure>"),
    "deep nesting": "<testsuite>" * 200 + "</testsuite>" * 200,
    "a long tag": case("<failure/>", 'name="' + "x" * 5_000_000 + '"'),
    "a long tag without end": "<testsuite name='" + "x" * 5_000_000,
    "a long comment": case(f"<!--{'x' * 5_000_000}-->"),
}


@pytest.mark.parametrize("report", BROKEN.values(), ids=BROKEN)
def test_broken_ones_are_refused(report: str | bytes) -> None:
    """What is no report is refused in one line that names it."""
    with pytest.raises(InputError, match=r"`report\.xml` is no JUnit report: ") as caught:
        read(report)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 200


def test_nothing_of_a_broken_one_counts() -> None:
    """A report that breaks off gives no sighting, not even of what stands before the break."""
    found = read_junit(io.BytesIO(REPORT.replace("</testsuite>", "").encode()), name="report.xml")
    with pytest.raises(InputError):
        next(found)


def test_long_texts_keep_their_ends() -> None:
    """Of a text of megabytes the beginning and the end are kept."""
    (found,) = read(case(f"<failure>begin{'x' * 10_000_000}end</failure>"))
    assert len(found.detail) <= MAX_DETAIL
    assert found.detail.startswith("begin")
    assert found.detail.endswith("end")


def test_a_pipe_is_read_too(tmp_path: Path) -> None:
    """A report need not be a file that can be read twice."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(REPORT,))
    writer.start()
    with path.open("rb") as file:
        assert 2 == len(list(read_junit(file, name="pipe")))
    writer.join()


def test_is_read_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sightings are given while the report is read, piece by piece, so none of its length is held."""
    monkeypatch.setattr(junit, "_PIECE", 1000)
    one = '<testcase classname="a" name="b"><failure message="x"/></testcase>'
    file = io.BytesIO(f"<testsuite>{one * 1000}</testsuite>".encode())
    found = read_junit(file, name="r")
    next(found)
    assert file.tell() <= 1000
    assert 999 == sum(1 for _ in found)


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=5))
def test_any_report_is_read(cases: list[tuple[str, str, str]]) -> None:
    """Whatever a test is named and says, it is seen once."""
    inner = "".join(
        f"<testcase name={quoteattr(name)}><failure message={quoteattr(message)}>{escape(text)}</failure></testcase>"
        for name, message, text in cases
    )
    assert len(cases) == len(read(f"<testsuite>{inner}</testsuite>"))


@given(st.binary(max_size=300), st.integers(0, len(REPORT)))
def test_any_damage_is_a_refusal(noise: bytes, place: int) -> None:
    """A report with anything put into it is read or refused, and nothing else."""
    data = REPORT.encode()
    with suppress(InputError):
        read(data[:place] + noise + data[place:])
