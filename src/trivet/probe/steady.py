"""Ids that do not change from run to run: what a test id says of the current moment or of an address in memory is replaced by a word.

Real suites put the current time into parameters. Where the clock is frozen such an id is the same each time; under the real clock the moment
in it is recognised by its nearness to now, so that other dates in ids stay as they are.
"""

import re
import time

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_DAY_TIME = re.compile(r"(?<!\d)(\d{2}):(\d{2}):(\d{2})([.,]\d{1,9})?(?!\d)")
_EPOCH = re.compile(r"(?<![\d.])(\d{10})(\.\d+|\d{3}|\d{6}|\d{9})?(?![\d.])")
_DATE = re.compile(r"(?<!\d)(\d{4}[-/.]\d{2}[-/.]\d{2}|\d{2}[-/.]\d{2}[-/.]\d{4}|\d{8})(?!\d)")
_DAY_S = 86_400


class Moments:
    """Recognises the moments between the start of the process and now."""

    def __init__(self):
        self.began = time.time()

    def plain(self, text):
        """The text with addresses and present moments replaced."""
        now = time.time()
        if not 0 <= now - self.began < _DAY_S:
            self.began = now  # somebody moved the clock
        text = _ADDRESS.sub("0x", text)
        offsets = (0, -time.timezone, -time.altzone)
        seconds = {int(self.began + back - 2 + offset) % _DAY_S for offset in offsets for back in range(int(now - self.began) + 5)}

        def day_time(found):
            hour, minute, second = (int(part) for part in found.groups()[:3])
            return "<time>" if hour * 3600 + minute * 60 + second in seconds else found.group()

        def epoch(found):
            return "<moment>" if self.began - 2 <= int(found.group(1)) <= now + 2 else found.group()

        text = _EPOCH.sub(epoch, text)
        days = set()
        for moment in (self.began, now):
            for clock in (time.gmtime(moment), time.localtime(moment)):
                year, month, day = "%04d" % clock.tm_year, "%02d" % clock.tm_mon, "%02d" % clock.tm_mday
                days.update((year + month + day, day + month + year, month + day + year))

        def date(found):
            return "<today>" if re.sub(r"\D", "", found.group()) in days else found.group()

        return _DATE.sub(date, _DAY_TIME.sub(day_time, text))


def rename(items, moments):
    """Give items steady ids; where two would get the same one they keep their own."""
    names = {}
    for item in items:
        head, bracket, rest = item.nodeid.partition("[")
        if bracket:
            names.setdefault(head + bracket + moments.plain(rest), []).append(item)
    taken = {item.nodeid for item in items}
    for name, own in names.items():
        if len(own) == 1 and own[0].nodeid != name and name not in taken:
            own[0]._nodeid = name
