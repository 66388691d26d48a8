"""A small client of Redbook: signs in, and calls with exact amounts. Needs `pip install eth-account`."""

import json
import os
import time
import uuid
from decimal import Decimal
from urllib import error, request

from eth_account import Account
from eth_account.messages import encode_typed_data

URL = os.environ.get("REDBOOK_URL", "http://localhost:8080")
LOGIN = [{"name": name, "type": kind} for name, kind in
         (("address", "address"), ("nonce", "string"), ("issuedAt", "string"))]


class Refused(Exception):
    """The service refused the request: it had no effect."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Lost(Exception):
    """No answer, or one that tells nothing: the request may have had its effect."""


def call(method, path, body=None, token=None):
    """Sends a request once. Numbers of the reply are exact: int or Decimal."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with request.urlopen(request.Request(URL + path, data, headers, method=method), timeout=10) as reply:
            return json.loads(reply.read(), parse_float=Decimal)
    except error.HTTPError as answer:
        if answer.code >= 500:
            raise Lost(f"status {answer.code}") from answer
        detail = json.loads(answer.read())
        raise Refused(detail.get("code"), detail.get("error")) from answer
    except (OSError, ValueError) as failure:
        raise Lost(str(failure)) from failure


def repeat(send, attempts=5):
    """Sends again what may be sent again: reads, cancels, and orders that have a client order id."""
    for attempt in range(attempts):
        try:
            return send()
        except Lost:
            if attempt == attempts - 1:
                raise
            time.sleep(0.2 * 2**attempt)


def sign_login(key, challenge):
    """Signs a login that is built here: only the name, the nonce and the time come from the service."""
    address = Account.from_key(key).address.lower()
    message = {"address": address, "nonce": challenge["message"]["nonce"],
               "issuedAt": challenge["message"]["issuedAt"]}
    domain = {"name": challenge["domain"]["name"], "version": "1"}
    signable = encode_typed_data(domain, {"Login": LOGIN}, message)
    return "0x" + Account.sign_message(signable, key).signature.hex().removeprefix("0x")


class Session:
    def __init__(self, key):
        self.address = Account.from_key(key).address.lower()
        self.token = repeat(lambda: self._sign_in(key))

    def _sign_in(self, key):
        challenge = call("POST", "/v1/auth/challenge", {"address": self.address})["typedData"]
        signature = sign_login(key, challenge)
        return call("POST", "/v1/auth/verify", {"address": self.address, "signature": signature})["token"]

    def get(self, path):
        return repeat(lambda: call("GET", path, token=self.token))

    def place(self, **order):
        """Places an order once, however often it is sent: its id is fixed first. Amounts are strings."""
        order = {"clientOrderId": uuid.uuid4().hex, **order}
        return repeat(lambda: call("POST", "/v1/orders", order, self.token))["order"]

    def cancel(self, order_id):
        try:
            repeat(lambda: call("DELETE", f"/v1/orders/{order_id}", token=self.token))
        except Refused as refusal:
            if refusal.code != "ORDER_NOT_FOUND":  # It was filled meanwhile, or cancelled by a lost request.
                raise

    def cancel_after(self, seconds):
        repeat(lambda: call("POST", "/v1/orders/cancel-after", {"timeoutMs": seconds * 1000}, self.token))
