"""Stands in for the package eth-account where it is not installed: the few calls of docs/examples/python."""

import hashlib
import hmac

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)


def keccak(data):
    constants, lfsr = [], 1
    for _ in range(24):
        constant = 0
        for bit in range(7):
            if lfsr & 1:
                constant ^= 1 << ((1 << bit) - 1)
            lfsr = (lfsr << 1) ^ (0x171 if lfsr & 0x80 else 0)
        constants.append(constant)
    turn = lambda word, by: ((word << by) | (word >> (64 - by))) & (2**64 - 1) if by else word
    lanes = [[0] * 5 for _ in range(5)]
    padded = bytearray(data) + b"\x01" + b"\0" * (-(len(data) + 1) % 136)
    padded[-1] |= 0x80
    for start in range(0, len(padded), 136):
        for at in range(17):
            word = int.from_bytes(padded[start + 8 * at:start + 8 * at + 8], "little")
            lanes[at % 5][at // 5] ^= word
        for constant in constants:
            sums = [lanes[x][0] ^ lanes[x][1] ^ lanes[x][2] ^ lanes[x][3] ^ lanes[x][4] for x in range(5)]
            for x in range(5):
                mixed = sums[(x - 1) % 5] ^ turn(sums[(x + 1) % 5], 1)
                for y in range(5):
                    lanes[x][y] ^= mixed
            x, y, held = 1, 0, lanes[1][0]
            for step in range(24):
                x, y = y, (2 * x + 3 * y) % 5
                held, lanes[x][y] = lanes[x][y], turn(held, (step + 1) * (step + 2) // 2 % 64)
            for y in range(5):
                row = [lanes[x][y] for x in range(5)]
                for x in range(5):
                    lanes[x][y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5])
            lanes[0][0] ^= constant
    return b"".join(lanes[at % 5][at // 5].to_bytes(8, "little") for at in range(4))


def plus(one, other):
    if one is None or other is None:
        return one or other
    (a, b), (c, d) = one, other
    if a == c and (b + d) % P == 0:
        return None
    slope = 3 * a * a * pow(2 * b, -1, P) if one == other else (d - b) * pow(c - a, -1, P)
    x = (slope * slope - a - c) % P
    return x, (slope * (a - x) - b) % P


def times(factor, point=G):
    result = None
    while factor:
        if factor & 1:
            result = plus(result, point)
        point, factor = plus(point, point), factor >> 1
    return result


def sign(secret, digest):
    """Signs with a nonce of RFC 6979."""
    key, value = b"\0" * 32, b"\1" * 32
    seed = secret.to_bytes(32, "big") + (int.from_bytes(digest, "big") % N).to_bytes(32, "big")
    for mark in (b"\0", b"\1"):
        key = hmac.digest(key, value + mark + seed, hashlib.sha256)
        value = hmac.digest(key, value, hashlib.sha256)
    value = hmac.digest(key, value, hashlib.sha256)
    nonce = int.from_bytes(value, "big")
    x, y = times(nonce)
    s = pow(nonce, -1, N) * (int.from_bytes(digest, "big") + x * secret) % N
    odd = y & 1
    if s > N // 2:
        s, odd = N - s, 1 - odd
    return x.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([27 + odd])


class Account:
    def __init__(self, key):
        x, y = times(int(key, 16))
        self.address = "0x" + keccak(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[12:].hex()

    from_key = classmethod(lambda cls, key: cls(key))

    @staticmethod
    def sign_message(digest, key):
        return type("Signed", (), {"signature": sign(int(key, 16), digest)})
