from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Office

SEND = '{"tool": "send", "args": {"to": "max"}}'


class TestGrants:
    def test_lists_what_is_open_now(self, office: Office) -> None:
        """Each live grant is one line: id, uses left, expiry, approver, subject and title."""
        office.approve(office.ask("--uses", "3", "--expires", "2999-01-01T00:00:00Z"), "--by", "max")
        office("check", SEND, "--subject", "s")
        (grant,) = office("grants", "--json").json
        (line,) = office("grants").stdout.splitlines()

        assert (
            f"{grant['id']}  2 of 3 uses left, expires 2999-01-01T00:00:00.000000Z  unsigned by max"
            "  s  one call of send"
        ) == line
        assert ("max", False, 2, 3) == (grant["by"], grant["signed"], grant["uses_left"], grant["max_uses"])

    def test_selects_by_subject(self, office: Office) -> None:
        """`--subject` leaves out what was opened for others."""
        office.approve(office.ask(subject="a"))
        office.approve(office.ask(subject="b"))

        assert ["a"] == [grant["subject"] for grant in office("grants", "--subject", "a", "--json").json]
        assert ["a", "b"] == [grant["subject"] for grant in office("grants", "--json").json]

    def test_what_is_spent_is_not_listed(self, office: Office) -> None:
        """A grant without uses left opens nothing and is not listed."""
        office.approve(office.ask())
        office("check", SEND, "--subject", "s")

        assert [] == office("grants", "--json").json


class TestRevoke:
    def test_closes_what_was_opened(self, office: Office) -> None:
        """A revoked grant opens nothing: the same call is asked about again."""
        office.approve(row := office.ask())
        grant = office.show(row["id"])["grant"]["id"]
        ran = office("revoke", grant, "--note", "too early", "--by", "max")

        assert (0, f"revoked {grant} of request {row['id']}: it opens nothing any more\n") == (
            ran.exit_code, ran.stdout,
        )  # fmt: skip
        assert "revoked" == office.show(row["id"])["state"]
        assert 4 == office("check", SEND, "--subject", "s").exit_code

    def test_as_json(self, office: Office) -> None:
        """With `--json` the request is printed as it stands then."""
        office.approve(row := office.ask())
        grant = office.show(row["id"])["grant"]["id"]
        (after,) = office("revoke", grant, "--json").json

        assert (row["id"], "revoked") == (after["id"], after["state"])

    def test_a_grant_that_is_none(self, office: Office) -> None:
        """A name that no grant has is refused."""
        office.ask()
        ran = office("revoke", "g_none")

        assert 1 == ran.exit_code
        assert "`g_none`" in ran.stderr
