"""A test suite as they grow in real life: chatty, long, and one thing is broken in the middle of it."""

from __future__ import annotations

import logging
import sys
import unittest

log = logging.getLogger("ledger")


class Ledger:
    """Keeps entries; its balance is wrong once an entry was moved to another account."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, int]] = []

    def add(self, account: str, cents: int) -> None:
        log.info("account %s: booked %d cents, %d entries so far", account, cents, len(self.entries) + 1)
        self.entries.append((account, cents))

    def move(self, index: int, account: str) -> None:
        _, cents = self.entries[index]
        log.info("entry %d moves to account %s", index, account)
        self.entries.append((account, cents))  # the bug: the old entry stays

    def balance(self) -> int:
        return sum(cents for _, cents in self.entries)


def check(number: int):
    def test(self: unittest.TestCase) -> None:
        ledger = Ledger()
        for step in range(number % 5 + 1):
            ledger.add(f"acc-{number % 17:02}", number * 10 + step)
        before = ledger.balance()
        if number == 617:
            ledger.move(0, "acc-99")
        self.assertEqual(ledger.balance(), before, f"moving an entry must not change the balance (case {number})")

    return test


class LedgerTests(unittest.TestCase):
    pass


for number in range(1200):
    setattr(LedgerTests, f"test_balance_{number:04}", check(number))

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    unittest.main(verbosity=2)
