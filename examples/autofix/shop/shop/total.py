"""What an order comes to."""


def total(prices: list[int], discount: int = 0) -> int:
    """Return the sum of prices in cents, less a discount in percent, rounded down."""
    return sum(prices) * (100 + discount) // 100
