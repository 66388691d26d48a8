"""Quotes both sides of a market, requotes when its price moves, and stops cleanly at Ctrl-C."""

import os
import signal
import time
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from redbook import Lost, Session, call, repeat

MARKET = os.environ.get("MARKET", "ETH/USDC")
session = Session(os.environ["PRIVATE_KEY"])
market = next(m for m in repeat(lambda: call("GET", "/v1/markets"))["markets"] if m["symbol"] == MARKET)
tick = Decimal(market["priceIncrement"])
live = f"/v1/orders?status=live&market={MARKET}"
stopping = []
signal.signal(signal.SIGINT, lambda *_: stopping.append(True))


def on_tick(price, rounding):
    return (price / tick).to_integral_value(rounding) * tick


def quote(mid):
    wanted = {"buy": on_tick(mid * Decimal("0.999"), ROUND_FLOOR), "sell": on_tick(mid * Decimal("1.001"), ROUND_CEILING)}
    for order in session.get(live)["orders"]:
        if wanted.get(order["side"]) == Decimal(order["price"]):
            del wanted[order["side"]]
        else:
            session.cancel(order["id"])
    for side, price in wanted.items():
        placed = session.place(market=MARKET, side=side, type="limit", price=str(price),
                               size=os.environ.get("SIZE", "0.1"), postOnly=True)
        print(side, price, placed["status"], flush=True)


while not stopping:
    try:
        session.cancel_after(30)  # If this program dies, the service cancels its orders.
        book = call("GET", f"/v1/market-data/orderbook/{MARKET.replace('/', '_')}?depth=2")
        last = call("GET", f"/v1/market-data/trades/{MARKET.replace('/', '_')}?limit=1")
        traded = (last["buy"] + last["sell"])[:1]
        if traded:
            quote(Decimal(traded[0]["price"]))
        elif book["bids"] and book["asks"]:
            quote((Decimal(book["bids"][0][0]) + Decimal(book["asks"][0][0])) / 2)
    except Lost as failure:
        print("again:", failure, flush=True)
    time.sleep(1)
for order in session.get(live)["orders"]:
    session.cancel(order["id"])
session.cancel_after(0)
print("stopped")
