"""What a stay costs, in cents."""

from dataclasses import dataclass

FREE_MINUTES = 30
HOUR = 250
DAY = 1800


@dataclass(frozen=True)
class Ticket:
    """A stay in minutes."""

    minutes: int


def fee(minutes):
    """The fee of one stay, in cents."""
    if minutes < 0:
        raise ValueError("a stay cannot end before it begins")
    days, rest = divmod(minutes, 24 * 60)
    if not days and rest <= FREE_MINUTES:
        return 0
    hours = rest // 60
    return days * DAY + min(hours * HOUR, DAY)


def total(tickets):
    """The fee of several stays."""
    return sum(fee(ticket.minutes) for ticket in tickets)
