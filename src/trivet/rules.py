"""The catalogue of rules: every finding names one of them.

``TRV1xx`` belong to oracle-integrity, ``TRV2xx`` to src-score, ``TRV3xx`` to flake-lease. ``next`` says what to do and never suggests
touching an oracle to get green.
"""

from __future__ import annotations

from dataclasses import dataclass

from trivet.model import LegName

_SPLIT = "Send the oracle or control part as its own change (`trivet split` makes the two branches)."
_OWNER = "Ask an owner named in CODEOWNERS on base to send or approve this change without production code."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: id, leg, a title of a few words, why it exists, and what to do next."""

    id: str
    leg: LegName
    title: str
    why: str
    next: str

    @property
    def slug(self) -> str:
        """The name of the documentation page."""
        return f"rules/{self.id}.md"


def _rules(leg: LegName, rows: tuple[tuple[str, str, str, str], ...]) -> tuple[Rule, ...]:
    return tuple(Rule(id=i, leg=leg, title=t, why=w, next=n) for i, t, w, n in rows)


_INTEGRITY = _rules("oracle-integrity", (
    ("TRV101", "sealed path changes together with production code", "The score would measure itself.", _SPLIT),
    ("TRV102", "control path changes together with production code", "Configuration, CI and owners decide how the code is measured.", _SPLIT),
    ("TRV103", "oracle change without authority", "Only an owner named on base may move oracles, ledger or control files.", _OWNER),
    ("TRV104", "influence name", "Python, pytest or git act on a file of this name by themselves.", "Give the file another name, or send it as its own change by an owner."),
    ("TRV105", "link or gitlink leaves its zone", "A link can bring bytes from elsewhere into a zone.", "Put a regular file there."),
    ("TRV106", "paths collide by case or Unicode form", "On some file systems the two paths are one file.", "Rename one of the two paths."),
    ("TRV107", "module shadows the standard library, the runner or a sealed helper", "The sealed tests would import the patch's module instead of the real one.", "Rename the module."),
    ("TRV108", "key of a control file moved", "Only the keys that base allows may move together with production code.", _SPLIT),
    ("TRV109", "git is told to show something else than the objects", "Replace refs, grafts and attributes can hide what a commit holds.", "Remove the replace refs or grafts and push the real commits."),
    ("TRV110", "test manifest differs from the sealed tests", "A test that is not listed does not run; a listed one that is missing cannot pass.", "An owner runs `trivet seal` and sends the result as an oracle change."),
    ("TRV111", "malformed line in the test manifest", "A list that can be read in two ways can be evaded.", "An owner runs `trivet seal` and sends the result as an oracle change."),
    ("TRV112", "fixture differs from its digest", "The expected values are not those that were sealed.", "Restore the fixture, or an owner seals it anew as an oracle change."),
    ("TRV113", "malformed line in a digest manifest", "A list that can be read in two ways can be evaded.", "An owner runs `trivet seal` and sends the result as an oracle change."),
    ("TRV114", "fixture is not listed", "A fixture that no digest covers can be exchanged unseen.", "An owner runs `trivet seal` and sends the result as an oracle change."),
    ("TRV115", "empty oracle", "No sealed test at all is a vacuous pass.", "An owner adds sealed tests."),
    ("TRV116", "oracle or control path without an owner", "A path that nobody owns has nobody to speak for it.", "An owner adds the path to CODEOWNERS in a change of its own."),
    ("TRV117", "CODEOWNERS on base cannot be relied on", "Forges ignore an over-long file or a bad line, which leaves oracles unprotected.", "An owner repairs CODEOWNERS in a change of its own."),
    ("TRV118", "test is defined twice", "The later definition silently replaces the earlier one.", "Give the tests different names."),
    ("TRV119", "sealed path is a link", "Its bytes lie in another zone and move with production code.", "An owner replaces the link by a regular file."),
    ("TRV120", "property cannot fail", "No mutated copy of the property fails, so it decides nothing.", "Write an assertion on a value that production code computes."),
    ("TRV121", "property is a tautology", "It holds whatever production code does.", "Compare what production code returns with an expected value."),
    ("TRV122", "property executes no production code", "It cannot tell a defect from a fix.", "Call the code that the property is about."),
    ("TRV123", "property is not deterministic", "It changes its outcome under another hash seed, order, time zone or clock.", "Remove the dependency that the finding names."),
    ("TRV124", "property touches the network or real time", "Its outcome can change without a change of the code.", "Use a sealed fixture and the pinned clock."),
    ("TRV125", "ledger changes while src-score is red", "A lease may not be moved by the change that needs it.", "First make src-score pass under the ledger on base."),
    ("TRV126", "change removes or weakens sealed tests", "Fewer sealed tests than before need an owner's word.", _OWNER),
    (
        "TRV127",
        "policy of head cannot be read",
        "What cannot be read now would block every change after the merge.",
        "An owner repairs the file that the finding names.",
    ),
))

_SCORE = _rules("src-score", (
    ("TRV201", "sealed property does not hold", "Production code does not do what the oracle says.", "Fix the production code; the sealed test says what is expected."),
    ("TRV202", "sealed test did not run", "Base collects this test; a run without it proves nothing about it.", "Make production code importable and free of side effects on collection."),
    ("TRV203", "negative control passed", "A copy of the test that must fail did not: the run was tampered with.", "Remove what makes assertions pass; return plain values."),
    ("TRV204", "tamper sign", "Runner, tests or interpreter were changed while the tests ran.", "Remove the code that changes the runner, the tests or the interpreter."),
    ("TRV205", "limit passed", "Time, memory, processes or output went over the policy's limit.", "Bring the production code back under the limit that the finding names."),
    ("TRV206", "environment leak", "The outcome differs between runs under one key.", "Remove the dependency that the finding names; a retry never turns it green."),
    ("TRV207", "production code does not merge", "Head and base changed the same lines.", "Rebase on base and resolve the conflict."),
    ("TRV208", "run ended without its closing message", "The process under test ended before the runner did.", "Remove exits, kills and crashes from production code paths."),
    ("TRV209", "could not judge", "The run could not be made; nothing was judged.", "See the message; a maintainer mends the host or the policy."),
    ("TRV210", "sealed test excluded by policy", "Base's policy says that this test cannot run here.", "Nothing to do; an owner may remove the exclusion."),
    ("TRV211", "right only under the pinned environment", "Another clock, hash seed, order or process changed the outcome.", "Make the code independent of how it is run."),
    ("TRV212", "wrong on unseen inputs", "Inputs that the patch could not know show a defect.", "Fix the production code for the input that the finding shows."),
    ("TRV213", "controls are off", "Without controls a faked pass cannot be told from a real one.", "An owner sets `controls` to \"sample\" or \"all\"."),
    ("TRV214", "wall is off", "Code under test runs without a wall.", "An owner sets `wall` to \"auto\"."),
))

_LEASE = _rules("flake-lease", (
    ("TRV301", "skip without a lease", "A skipped test decides nothing; only a live lease from base's ledger covers it.", "Remove the skip, or ask an owner for a lease in a change of its own."),
    ("TRV302", "test skipped or xfailed at run time without a lease", "Whoever caused it, the test did not decide.", "Make the test run and pass; production code must not raise skips."),
    ("TRV303", "lease has expired", "A lease is dated; after that the test counts again.", "Mend the test's cause, or an owner renews the lease in a change of its own."),
    ("TRV304", "lease does not match the test's code", "The test has changed since the lease was given.", "An owner reviews the test and renews the lease in a change of its own."),
    ("TRV305", "leased test fails differently", "The lease names another failure than the one seen.", "Fix the failure that is seen; the lease does not cover it."),
    ("TRV306", "leased test passes again", "The lease is no longer needed.", "An owner deletes the lease and the mark."),
    ("TRV307", "lease has the weak digest", "The 16-digit form covers neither constants nor names.", "An owner runs `trivet lease renew`."),
    ("TRV308", "lease expires soon", "Fewer than 14 days are left.", "Mend the test's cause before the lease ends."),
    ("TRV309", "lease covers no skip", "The row names a test that is neither skipped nor xfailed.", "An owner removes the row."),
    ("TRV310", "ledger is not strict JSON", "A ledger that can be read in two ways can be evaded.", "An owner repairs the ledger in a change of its own."),
    ("TRV311", "two rows for one test", "Only one of them can be meant.", "An owner removes one of the rows."),
    ("TRV312", "duplicate key in the ledger", "Only one of them can be meant.", "An owner removes one of the keys."),
    ("TRV313", "expiry is not a time", "`expires_at` is a finite number of seconds since the epoch.", "An owner writes the expiry with `trivet lease add` or `renew`."),
    ("TRV314", "expiry lies past the longest lease", "A lease without an end is not a lease.", "An owner shortens the lease."),
    ("TRV315", "lease without owner or reason", "Somebody must stand behind it.", "An owner adds the missing field."),
    ("TRV316", "blank or catch-all failure signature", "A signature that matches everything covers every failure.", "An owner names the exception and its message."),
    ("TRV317", "unknown key in the ledger", "An unknown key may be a misspelt one.", "An owner removes the key."),
    ("TRV318", "lease names no or several tests", "It is not clear which test is meant.", "An owner adds `path` to the row, or corrects `qualname`."),
    ("TRV319", "malformed digest", "A digest is 16 hex digits (weak) or `v1:` and 64.", "An owner runs `trivet lease digest` and writes its output."),
    ("TRV320", "skipped tests differ from base", "Base runs this test in the same environment.", "Make the test run; the environment is the same."),
))

RULES: dict[str, Rule] = {rule.id: rule for rule in (*_INTEGRITY, *_SCORE, *_LEASE)}
