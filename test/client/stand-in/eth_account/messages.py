"""Digests of EIP-712, for types with texts and addresses alone."""

from . import keccak


def encoded(kind, value):
    return bytes.fromhex(value[2:]).rjust(32, b"\0") if kind == "address" else keccak(value.encode())


def struct_hash(name, fields, values):
    kind = f"{name}({','.join(f['type'] + ' ' + f['name'] for f in fields)})"
    return keccak(keccak(kind.encode()) + b"".join(encoded(f["type"], values[f["name"]]) for f in fields))


def encode_typed_data(domain, types, message):
    ((name, fields),) = types.items()
    of_domain = [{"name": one, "type": "string"} for one in domain]
    return keccak(b"\x19\x01" + struct_hash("EIP712Domain", of_domain, domain) + struct_hash(name, fields, message))
