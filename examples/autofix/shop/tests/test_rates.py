import unittest

from shop.rates import rate


class Rates(unittest.TestCase):
    def test_the_rate_of_germany(self) -> None:
        self.assertEqual(rate("DE"), 19)
