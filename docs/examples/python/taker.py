"""Buys at once, at most at a given price, and prints what it cost: `python3 taker.py 0.1 2010`."""

import os
import sys
from decimal import Decimal

from redbook import Session

size, worst = (sys.argv[1:] + ["0.1", "2010"])[:2]
session = Session(os.environ["PRIVATE_KEY"])
market = os.environ.get("MARKET", "ETH/USDC")
order = session.place(market=market, side="buy", type="limit", price=worst, size=size, timeInForce="IOC")
trades = session.get(f"/v1/trades?orderId={order['id']}")["trades"]
spent = sum(Decimal(trade["notional"]) + Decimal(trade["feeAmount"]) for trade in trades)
print(f"bought {order['filledSize']} for {spent}; the order is {order['status']}")
