import unittest

from shop.store import attempts


class Store(unittest.TestCase):
    def test_tries_are_counted_anew_after_it_was_idle(self) -> None:
        self.assertEqual(attempts(fails=1), 2)
