"""Writes each execution of a market as a line of JSON, once each."""

import json
import os
import time

from redbook import Lost, call

ticker_id = os.environ.get("MARKET", "ETH/USDC").replace("/", "_")
last = 0
while True:
    try:
        found = call("GET", f"/v1/market-data/trades/{ticker_id}?limit=500")
    except Lost:
        found = {"buy": [], "sell": []}
    for trade in sorted(found["buy"] + found["sell"], key=lambda trade: trade["trade_id"]):
        if trade["trade_id"] > last:
            last = trade["trade_id"]
            print(json.dumps({"id": last, "price": trade["price"], "size": trade["base_volume"],
                              "side": trade["type"]}), flush=True)
    time.sleep(1)
