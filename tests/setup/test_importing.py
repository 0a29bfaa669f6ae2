from __future__ import annotations

from indult.setup.importing import Translated, collected


def test_numbers_and_lines() -> None:
    """Rules are numbered by what they do, and a line says what became of a setting."""
    rule = {"effect": "allow", "tool": "Read"}

    found = collected(
        "x", [("f", "a[0]", "Read", Translated(rule=rule)), ("f", "a[1]", "Odd", Translated(differs="why"))]
    )

    assert [{"id": "x.allow.1", **rule}] == [one for _, one in found.rules]
    assert ["f: a[0]: Read: rule x.allow.1", "f: a[1]: Odd: not imported; why"] == [line.text for line in found.lines]


def test_rule_that_would_not_load() -> None:
    """A setting that no rule can say is told with the reason, and takes no number."""
    bad, good = {"effect": "allow", "tool": " x"}, {"effect": "allow", "tool": "x"}

    found = collected("x", [("f", "0", "a", Translated(rule=bad)), ("f", "1", "b", Translated(rule=good))])

    assert ["x.allow.1"] == [rule["id"] for _, rule in found.rules]
    assert [None, "x.allow.1"] == [line.rule for line in found.lines]
    assert found.lines[0].differs.startswith("no rule can say it: ")


def test_setting_that_is_no_line() -> None:
    """A setting with a line break cannot begin a line of its own in the policy."""
    found = collected("x", [("f", "0", "a\nrules: []", Translated(rule={"effect": "allow", "tool": "x"}))])

    assert ["From f, 0: a\\nrules: []"] == [comment for comment, _ in found.rules]
