"""What is said to an event, whatever the harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.adapters.conftest import LAW, Session

from indult.adapters.hooks import NOTHING, Answer, Say
from indult.approvals import Choice, HumanDecision, Via
from indult.gate.denials import REPEATED
from indult.ledger import utc_now

if TYPE_CHECKING:
    from pathlib import Path

    from indult.adapters.desk import Desk
    from indult.ledger import Event


def events(desk: Desk, kind: str) -> list[Event]:
    """Return the events of a kind in the stream of the work tree."""
    return list(desk.ledger.events(desk.gate.subject, kinds={kind}))


def decided(desk: Desk, choice: Choice, note: str = "") -> str:
    """Answer the request that is open, and return its id."""
    (standing,) = desk.gate.requests.pending(desk.gate.subject)
    desk.gate.requests.decide(
        HumanDecision(
            id=f"d_{standing.request.id[2:]}",
            request=standing.request.id,
            choice=choice,
            digest=standing.request.digest,
            seen=standing.seen,
            by="you",
            via=Via.CLI,
            at=utc_now(),
            note=note,
        )
    )
    return standing.request.id


class TestCalls:
    def test_a_rule_that_allows_is_silent(self, session: Session) -> None:
        """Nothing is said where a rule allows a call: settings and the person still have their say."""
        assert session.pre("Read", file_path="a")._replace(boundary="") == NOTHING

    def test_a_denial_says_what_and_why_and_what_now(self, session: Session) -> None:
        """A denial names the rule with its sentence, and the way on."""
        answer = session.pre("Run", line="push --force")

        assert Say.DENY == answer.say
        for part in (
            "not run",
            "`force`",
            "Never rewrite what others have.",
            "No approval opens this",
            "indult report",
        ):
            assert part in answer.reason

    @pytest.mark.parametrize(
        ("command", "about"),
        [
            ("git push --force", None),
            ("ls; git push  --force", "git push --force"),
            ("git push --force && cat .env > out/a", "git push --force`, `write:out/a`, `cat .env"),
        ],
    )
    def test_a_denial_names_the_parts(self, session: Session, root: Path, command: str, about: str | None) -> None:
        """Of a line of several commands, a denial names those that it is about, as one would type them."""
        rules = 'target: ["command:git push --force", "file:.env", "file:out/**"], effect: deny, says: No.'
        (root / "indult.yaml").write_text(
            f"{LAW}  - {{id: no, {rules}}}\n  - {{id: ls, target: 'command:ls', effect: allow}}\n"
        )

        lines = session.pre("Bash", command=command).reason.split("\n")

        assert ([] if about is None else [f"It is about `{about}`."]) == lines[1:-1]

    def test_a_question_names_the_request_and_how_it_is_answered(self, session: Session, desk: Desk) -> None:
        """A question says which request was opened, how to answer it, and what to do until then."""
        answer = session.pre("Run", line="push")

        (standing,) = desk.gate.requests.pending(desk.gate.subject)
        assert Say.ASK == answer.say
        assert f"indult approve {standing.request.id}" in answer.reason
        assert "go on with something else" in answer.reason

    def test_the_same_question_is_put_once(self, session: Session, desk: Desk) -> None:
        """A call that is made again while it waits finds the request that is open."""
        first, second = (session.pre("Run", line="push").reason for _ in range(2))

        assert first == second
        assert 1 == len(desk.gate.requests.pending(desk.gate.subject))

    def test_a_grant_says_allow_once(self, session: Session, desk: Desk) -> None:
        """An approval opens the call that it was asked for, by name, and is then used up."""
        session.pre("Run", line="push")
        decided(desk, Choice.APPROVE)

        assert "covers only" in session.pre("Run", line="push --force").reason
        assert Say.ASK == session.pre("Run", line="push elsewhere").say
        allowed = session.pre("Run", line="push")
        assert Say.ALLOW == allowed.say
        assert "grant g_" in allowed.reason
        assert Say.ASK == session.pre("Run", line="push").say

    def test_a_rejection_is_a_denial_with_the_persons_words(self, session: Session, desk: Desk) -> None:
        """After a no the same call is refused with what the person said, and nobody is asked again."""
        session.pre("Run", line="push")
        decided(desk, Choice.REJECT, "Open a pull request instead.")

        answer = session.pre("Run", line="push")

        assert Say.DENY == answer.say
        assert "Open a pull request instead." in answer.reason
        assert "A person said no" in answer.reason
        assert [] == desk.gate.requests.pending(desk.gate.subject)

    def test_another_policy_asks_again_after_a_rejection(self, session: Session, desk: Desk, root: Path) -> None:
        """A no holds until the action or the policy is another one."""
        session.pre("Run", line="push")
        decided(desk, Choice.REJECT)
        (root / "indult.yaml").write_text(LAW.replace("A push needs", "Each push needs"), encoding="utf-8")

        assert Say.ASK == session.pre("Run", line="push").say

    def test_another_call_asks_again_after_a_rejection(self, session: Session, desk: Desk) -> None:
        """A no is to what was asked: another call is another question, and the first one stays refused."""
        session.pre("Run", line="push")
        decided(desk, Choice.REJECT, "Open a pull request instead.")

        assert Say.ASK == session.pre("Run", line="push a branch").say
        assert Say.DENY == session.pre("Run", line="push").say

    def test_a_downgrade_is_a_rewrite_with_a_note(self, session: Session) -> None:
        """What may run in place of a denied call is given as new arguments, and the agent is told why."""
        answer = session.pre("Find", pattern="x", limit=500)

        assert (Say.ALLOW, {"pattern": "x", "limit": 100}) == (answer.say, answer.args)
        assert "Find at most 100." in answer.context

    def test_an_observing_policy_blocks_nothing(self, session: Session, root: Path, desk: Desk) -> None:
        """Under `mode: observe` a denial is recorded and nothing is said."""
        (root / "indult.yaml").write_text(f"{LAW}mode: observe\n", encoding="utf-8")

        assert Say.NOTHING == session.pre("Run", line="push --force").say
        assert "DENY" == events(desk, "judgement")[-1].data["judgement"]["verdict"]

    def test_a_question_that_cannot_be_put_is_left_to_who_is_there(self, session: Session) -> None:
        """A call too long to be shown elsewhere opens no request; only a person who sees the call itself can say yes."""
        answer = session.pre("Run", line="push " + "x" * 3000)

        assert Say.ASK == answer.say
        assert "Nobody could be asked" in answer.reason

    def test_the_session_and_the_call_are_recorded(self, session: Session, desk: Desk) -> None:
        """A judgement is recorded with whose call it was; a sub-agent is an actor of its own."""
        session.more = {"agent_id": "a-9", "agent_type": "Explore"}
        session.pre("Read", call="c-7", file_path="a")

        data = events(desk, "judgement")[-1].data
        assert ("c-7", "s-1", "claude-code:Explore") == (data["call"], data["session"], data["actor"])

    def test_a_reason_has_an_end(self, session: Session, root: Path) -> None:
        """However much a rule says, an answer stays short enough to be shown."""
        (root / "indult.yaml").write_text(LAW.replace("Never rewrite", "Never " + "ever " * 2000), encoding="utf-8")

        assert 4000 >= len(session.pre("Run", line="push --force").reason)


class TestRepetition:
    def test_the_third_refusal_says_stop(self, session: Session) -> None:
        """Each refusal is judged anew; from the third of the same on the agent is told to stop and hand back."""
        reasons = [session.pre("Run", line="push --force").reason for _ in range(REPEATED + 1)]

        assert [False, False, True, True] == ["Stop trying" in reason for reason in reasons]
        assert "Refused 4 times" in reasons[-1]

    def test_each_refusal_is_worded_by_its_count(self, session: Session) -> None:
        """The first refusal says the way on, the second that nothing changed, and the third that it is over."""
        first, second, third = (session.pre("Run", line="push --force").reason for _ in range(3))

        reason = "indult: not run: denied by `force`: Never rewrite what others have.\n"
        way = "No approval opens this. Do what you need in a way that is allowed, or hand it back with `indult report`."
        again = "Refused 2 times now, and nothing changed in between. Written in another way it is the same."
        assert f"{reason}{way}" == first
        assert f"{reason}{again} {way}" == second
        assert third.startswith(f"{reason}Refused 3 times now, and nothing changed in between. Stop trying: ")

    def test_a_long_reason_is_told_whole_once(self, session: Session, root: Path) -> None:
        """What the rules say at length is shown once; after that its beginning reminds of it."""
        says = "Never rewrite what others have, " + "not even a little, " * 30 + "at all."
        (root / "indult.yaml").write_text(LAW.replace("Never rewrite what others have.", f'"{says}"'), encoding="utf-8")

        first, second, third = (session.pre("Run", line="push --force").reason for _ in range(3))

        assert says in first
        for reason in (second, third):
            assert reason.startswith("indult: not run: denied by `force`: Never rewrite what others have, ")
            assert len(first) - 200 > len(reason)

    def test_what_a_person_said_is_told_each_time(self, session: Session, root: Path, desk: Desk) -> None:
        """However long the rules and however often, a refusal after a no has what the person said."""
        says = "A push needs " + "really " * 60 + "a person."
        (root / "indult.yaml").write_text(LAW.replace("A push needs a person.", says), encoding="utf-8")
        session.pre("Run", line="push")
        decided(desk, Choice.REJECT, "Open a pull request instead.")

        reasons = [session.pre("Run", line="push").reason for _ in range(4)]

        assert 4 == sum("you chose to reject: Open a pull request instead." in reason for reason in reasons)
        assert [False, False, True, True] == ["Stop trying" in reason for reason in reasons]

    def test_another_action_counts_by_itself(self, session: Session) -> None:
        """Only the same counts: another call, or the same one under another policy, begins anew."""
        for _ in range(REPEATED):
            session.pre("Run", line="push --force")

        assert "Stop trying" not in session.pre("Run", line="push --force now").reason

    def test_another_policy_begins_anew(self, session: Session, root: Path) -> None:
        """When other rules refuse, the count begins anew."""
        for _ in range(REPEATED):
            session.pre("Run", line="push --force")
        for old, new in (("id: force", "id: forced"), ("Never rewrite", "Do not rewrite")):
            (root / "indult.yaml").write_text(LAW.replace(old, new), encoding="utf-8")

            assert "Refused" not in session.pre("Run", line="push --force").reason

    def test_repeated_rejections_count(self, session: Session, desk: Desk) -> None:
        """A call that a person said no to is refused, and refusals of it are counted as well."""
        session.pre("Run", line="push")
        decided(desk, Choice.REJECT)

        reasons = [session.pre("Run", line="push").reason for _ in range(REPEATED)]

        assert [False, False, True] == ["Stop trying" in reason for reason in reasons]

    def test_a_stop_reports_it_once(self, session: Session, desk: Desk) -> None:
        """When the agent stops, the person is told what was refused again and again, and not twice."""
        for _ in range(REPEATED):
            session.pre("Run", line="push --force")

        assert NOTHING == Session(session.root, "s-2")("Stop")
        notice = session("Stop", stop_hook_active=False).notice
        assert "claude-code was refused 3 times: Run (force)" in notice
        assert "(force)" in notice
        assert NOTHING == session("Stop", stop_hook_active=False)
        assert 1 == len(events(desk, "reported"))

    def test_two_refusals_are_no_report(self, session: Session) -> None:
        """What was refused twice was perhaps tried in another way; it is not reported."""
        for _ in range(REPEATED - 1):
            session.pre("Run", line="push --force")

        assert NOTHING == session("Stop", stop_hook_active=False)


class TestBrief:
    def test_a_session_begins_with_the_boundary(self, root: Path, desk: Desk) -> None:
        """A session that begins is told the boundary and its digest, which is recorded with the text."""
        answer = Session(root)("SessionStart", source="startup")

        told = events(desk, "briefed")[-1].data
        assert "A push needs a person." in answer.context
        assert desk.gate.boundary().digest in answer.context
        assert (desk.gate.boundary().digest, answer.context) == (
            told["boundary"],
            desk.ledger.body(told["text"]["body"]),
        )

    def test_a_prompt_repeats_nothing(self, session: Session) -> None:
        """A prompt is not followed by a boundary that the session has read."""
        assert "" == session("UserPromptSubmit", prompt="go on").context

    def test_a_prompt_tells_what_changed(self, session: Session, desk: Desk) -> None:
        """After an approval the next prompt is followed by the new boundary, and the next one is not."""
        session.pre("Run", line="push")
        decided(desk, Choice.APPROVE)

        assert "Except for one call of Run" in session("UserPromptSubmit", prompt="go on").context
        assert "" == session("UserPromptSubmit", prompt="go on").context

    def test_a_call_tells_what_changed(self, session: Session, desk: Desk) -> None:
        """Where the boundary is another one at a call, the answer to the call tells it."""
        session.pre("Run", line="push")
        decided(desk, Choice.APPROVE)

        assert "Except for one call of Run" in session.pre("Read", file_path="a").context
        assert "" == session.pre("Read", file_path="a").context

    def test_using_up_a_grant_tells_what_holds_then(self, session: Session, desk: Desk) -> None:
        """The call that uses a grant up is answered with the boundary without it, so that no text is out of date."""
        session.pre("Run", line="push")
        decided(desk, Choice.APPROVE)
        session("UserPromptSubmit", prompt="go on")

        context = session.pre("Run", line="push").context

        assert "A push needs a person." in context
        assert "Except for" not in context

    def test_judgements_name_the_boundary_that_was_read(self, session: Session, desk: Desk) -> None:
        """What judged and what was read are both recorded, and equal."""
        session.pre("Read", file_path="a")

        judgement = events(desk, "judgement")[-1].data["judgement"]
        assert judgement["boundary"] == judgement["briefed"]

    def test_each_agent_reads_for_itself(self, session: Session) -> None:
        """A sub-agent has not read what the agent above it has."""
        session.more = {"agent_id": "a-9", "agent_type": "Explore"}

        assert "A push needs a person." in session.pre("Read", file_path="a").context


class TestOutcomes:
    def test_an_outcome_is_recorded(self, session: Session, desk: Desk) -> None:
        """The end of a call that was judged is recorded with the digest of its result, and nothing of it."""
        session.pre("Read", file_path="a")
        session.post("Read", tool_response={"text": "all of it"})

        (outcome,) = events(desk, "outcome")
        (judgement,) = events(desk, "judgement")
        assert (judgement.version, "c-1", "done") == tuple(
            outcome.data[name] for name in ("judgement", "call", "status")
        )
        assert outcome.data["result"].startswith("sha256:")

    def test_a_failure_is_one(self, session: Session, desk: Desk) -> None:
        """A call that failed is recorded as such."""
        session.pre("Read", file_path="a")
        session("PostToolUseFailure", tool_name="Read", tool_input={}, tool_use_id="c-1", error="no such file")

        assert "failed" == events(desk, "outcome")[0].data["status"]

    @pytest.mark.parametrize("call", ["c-2", None])
    def test_what_was_not_judged_is_not_recorded(self, session: Session, desk: Desk, call: str | None) -> None:
        """The end of a call that nobody judged says nothing."""
        session.pre("Read", file_path="a")
        fields: dict[str, Any] = {} if call is None else {"tool_use_id": call}
        session("PostToolUse", tool_name="Read", tool_input={}, tool_response="x", **fields)

        assert [] == events(desk, "outcome")

    def test_a_denied_call_that_ran_is_told(self, session: Session) -> None:
        """Where a harness runs what was denied, the person at it is told."""
        session.pre("Run", line="push --force")

        assert "did not obey" in session.post("Run", tool_response="pushed").notice


class TestPermission:
    @pytest.mark.parametrize("line", ["ls", "push"])
    def test_a_persons_dialogue_is_not_answered(self, session: Session, desk: Desk, line: str) -> None:
        """What is allowed or asked stays a question of the harness to its person, and opens no request of ours."""
        answer = session("PermissionRequest", tool_name="Run", tool_input={"line": line})

        assert Answer(boundary=answer.boundary) == answer
        assert [] == desk.gate.requests.pending(desk.gate.subject)

    def test_a_denial_holds(self, session: Session, desk: Desk) -> None:
        """What is denied is denied there too, without being counted as another call."""
        answer = session("PermissionRequest", tool_name="Run", tool_input={"line": "push --force"})

        assert Say.DENY == answer.say
        assert [] == events(desk, "judgement")
