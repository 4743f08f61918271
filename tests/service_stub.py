"""A stand-in for the command in tests of the service: takes the arguments of ``trivet gate``, waits a little, and writes verdict files.

Head decides what it says: an id that ends in 0 to 9 may merge, one in a to d is blocked, one in e or f could not be judged. Environment is
empty in a child of the service, so what it is to do stands in a file beside it: ``stub.json`` with ``wait`` (seconds) and ``log`` (a file
that gets a line for each run).
"""

import json
import os
import sys
import time
from pathlib import Path

args = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))
told = json.loads(Path(__file__).with_name("stub.json").read_text())
out = Path(args["--out"])
out.mkdir(parents=True, exist_ok=True)
with Path(told["log"]).open("a") as log:
    log.write(f"{args['--head']} {os.getpid()}\n")
sys.stderr.write("stub  judges\n")
sys.stderr.flush()
time.sleep(told["wait"])
digit = args["--head"][-1]
status = "PASS" if digit.isdigit() else "FAIL" if digit in "abcd" else "NOT_RUN"
cause = {"PASS": "", "FAIL": "property", "NOT_RUN": "infra"}[status]
finding = {"rule": "TRV201" if status == "FAIL" else "TRV209", "level": "error", "message": "tests/sealed/test_a.py::test_b[s3cret-1]: assert 's3cret' == 2", "path": "tests/sealed/test_a.py", "line": 3, "next": ""}
good = {"status": "PASS", "cause": "", "findings": []}
verdicts = {"src-score": {"status": status, "cause": cause, "findings": [finding] if cause else []}, "oracle-integrity": good, "flake-lease": good}
decision = {
    "schema": 1, "tool": {"name": "trivet", "version": "0"}, "base": {"commit": args["--base"], "tree": "1" * 40}, "head": {"commit": args["--head"], "tree": "2" * 40},
    "turned_green": [], "merge_base": args["--base"], "score_tree": "3" * 40, "policy": {"digest": "4" * 64, "source": "stub"},
    "change": {"kind": "patch", "paths": []}, "verdicts": verdicts, "merge": status == "PASS", "replay_key": {"digest": "5" * 64},
    "run": {"tests": {"passed": 1}, "controls": {}, "isolation": {"shared": []}, "wall": {"name": "kernel"}, "duration_s": told["wait"]}, "advisory": None,
}  # fmt: skip
for leg, verdict in verdicts.items():
    (out / f"{leg.replace('-', '_')}.txt").write_text(verdict["status"] + "\n")
(out / "decision.json").write_text(json.dumps(decision))
sys.exit({"PASS": 0, "FAIL": 1, "NOT_RUN": 3}[status])
