"""What somebody does who has a copy of a folder with all its living keys: opens the keyring, hashes guesses, looks for the hashes.

Written against the format in docs (inside/keys.md, inside/storage.md), not with the server's code.
"""
import hashlib
import os
import struct

# So many bytes of a hash may stand with the neighbour before it: blocks leave out what a key has in common with that.
SHARED = 2


class Guesser:
    """The keys of a folder's database, and what is to be found by them in its files."""

    def __init__(self, folder):
        with open(os.path.join(folder, "root.key")) as file:
            root = bytes.fromhex(file.read().strip())
        with open(os.path.join(folder, "keyring"), "rb") as file:
            pages = file.read(8192)
        # The newer copy counts.
        header = max((pages[:4096], pages[4096:]), key=lambda page: page[16:24])
        key = opened(root, header[48:72], header[72:120])
        self.hash_key = opened(key, header[120:144], header[144:272])[32:64]

    def _hash(self, domain, number, canonical):
        return hashlib.blake2b(domain + struct.pack(">I", number) + canonical, key=self.hash_key, digest_size=16).digest()[SHARED:]

    def row_key(self, table, *values):
        """Under what a row of a personal table stands that has this primary key; `table` is its OID."""
        return self._hash(b"k", table, canonical(values))

    def tag(self, index, *values):
        """Under what these values stand in an index."""
        return self._hash(b"i", index, canonical(values))


def canonical(values):
    """Values as keys have them: texts and integers."""
    return b"".join(map(_code, values))


def _code(value):
    if isinstance(value, str):
        return b"\x14" + value.encode().replace(b"\0", b"\0\xff") + b"\0\0"
    size = (value.bit_length() + 7) // 8
    if value < 0:
        raise NotImplementedError("negative keys")
    return bytes([0x80 + size]) + value.to_bytes(size, "big")


def opened(key, nonce, sealed):
    """XChaCha20-Poly1305, the tag not looked at: a wrong key shows as guesses that are never found."""
    state = _words(key, nonce[:16])
    mixed = _rounds(state)
    subkey = struct.pack("<8I", *mixed[:4], *mixed[12:])
    sealed, plain = sealed[:-16], b""
    for number in range(0, len(sealed), 64):
        state = _words(subkey, struct.pack("<2I", number // 64 + 1, 0) + nonce[16:])
        block = struct.pack("<16I", *((one + other) & 0xFFFFFFFF for one, other in zip(state, _rounds(state))))
        plain += bytes(one ^ other for one, other in zip(sealed[number:number + 64], block))
    return plain


def _words(key, rest):
    return [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key), *struct.unpack("<4I", rest)]


def _rounds(state):
    x = list(state)
    for _ in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                           (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            for to, by, mixes, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[to] = (x[to] + x[by]) & 0xFFFFFFFF
                mixed = x[mixes] ^ x[to]
                x[mixes] = (mixed << turn | mixed >> 32 - turn) & 0xFFFFFFFF
    return x


def find(folder, needles):
    """Which of these bytes stand in any file of a folder: {needle: names of files}."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                with open(os.path.join(path, name), "rb") as file:
                    # The log's file is made long before it is written.
                    content = file.read().rstrip(b"\0")
            except OSError:
                continue
            for needle in needles:
                if needle in content:
                    found.setdefault(needle, []).append(name)
    return found
