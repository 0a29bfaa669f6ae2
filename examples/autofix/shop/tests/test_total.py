import unittest

from shop.total import total


class Total(unittest.TestCase):
    def test_a_discount_makes_it_less(self) -> None:
        self.assertEqual(total([1000, 500], discount=10), 1350)
