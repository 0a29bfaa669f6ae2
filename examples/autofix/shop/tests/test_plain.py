import unittest

from shop.total import total


class Plain(unittest.TestCase):
    def test_without_a_discount_it_is_the_sum(self) -> None:
        self.assertEqual(total([1000, 500]), 1500)
