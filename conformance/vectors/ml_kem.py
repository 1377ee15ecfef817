"""ML-KEM and its K-PKE (FIPS 203), as the standard writes them down: slow, and for vectors alone.

Polynomials are lists of 256 numbers below Q.
"""

import hashlib
from typing import NamedTuple

Q = 3329
REVERSED = [int(f"{i:07b}"[::-1], 2) for i in range(128)]
ZETAS = [pow(17, i, Q) for i in REVERSED]
GAMMAS = [pow(17, 2 * i + 1, Q) for i in REVERSED]


class MlKem(NamedTuple):
    """A parameter set (8, table 2); eta_2 is 2 in all."""

    rank: int
    eta_1: int
    d_u: int
    d_v: int

    @property
    def ciphertext_len(self) -> int:
        return 32 * (self.d_u * self.rank + self.d_v)

    def keys(self, d: bytes) -> tuple[bytes, list]:
        """The encapsulation key, and the secret vector (algorithm 13, K-PKE.KeyGen)."""
        seeds = hashlib.sha3_512(d + bytes([self.rank])).digest()
        rho, sigma = seeds[:32], seeds[32:]
        secret = [ntt(noise(sigma, n, self.eta_1)) for n in range(self.rank)]
        error = [ntt(noise(sigma, self.rank + n, self.eta_1)) for n in range(self.rank)]
        public = [add(inner(row, secret), e) for row, e in zip(self.matrix(rho), error)]
        return b"".join(pack(p, 12) for p in public) + rho, secret

    def encrypt(self, key: bytes, message: bytes, coins: bytes) -> bytes:
        """Algorithm 14, K-PKE.Encrypt."""
        public = [unpack(key[384 * i : 384 * i + 384], 12) for i in range(self.rank)]
        columns = zip(*self.matrix(key[384 * self.rank :]))
        y = [ntt(noise(coins, n, self.eta_1)) for n in range(self.rank)]
        u = [
            add(inverse_ntt(inner(column, y)), noise(coins, self.rank + n, 2))
            for n, column in enumerate(columns)
        ]
        v = add(inverse_ntt(inner(public, y)), noise(coins, 2 * self.rank, 2))
        v = add(v, expand(unpack(message, 1), 1))
        c_1 = b"".join(pack(compress(p, self.d_u), self.d_u) for p in u)
        return c_1 + pack(compress(v, self.d_v), self.d_v)

    def decrypt(self, secret: list, ciphertext: bytes) -> bytes:
        """Algorithm 15, K-PKE.Decrypt."""
        assert len(ciphertext) == self.ciphertext_len, "the length of the ciphertext"
        length = 32 * self.d_u
        parts = [ciphertext[length * i : length * i + length] for i in range(self.rank)]
        u = [expand(unpack(part, self.d_u), self.d_u) for part in parts]
        v = expand(unpack(ciphertext[length * self.rank :], self.d_v), self.d_v)
        masked = inverse_ntt(inner(secret, [ntt(p) for p in u]))
        return pack(compress([(a - b) % Q for a, b in zip(v, masked)], 1), 1)

    def decapsulate(self, d: bytes, ciphertext: bytes) -> bytes:
        """The shared secret (algorithm 18); a ciphertext that does not fit is an error here."""
        key, secret = self.keys(d)
        message = self.decrypt(secret, ciphertext)
        shared = hashlib.sha3_512(message + hashlib.sha3_256(key).digest()).digest()
        if self.encrypt(key, message, shared[32:]) != ciphertext:
            raise ValueError("the ciphertext was not made for this key")
        return shared[:32]

    def matrix(self, rho: bytes) -> list:
        indices = range(self.rank)
        return [[uniform(rho + bytes([j, i])) for j in indices] for i in indices]


ML_KEM_512 = MlKem(2, 3, 10, 4)
ML_KEM_768 = MlKem(3, 2, 10, 4)
ML_KEM_1024 = MlKem(4, 2, 11, 5)


def uniform(seed: bytes) -> list:
    """Algorithm 7, SampleNTT."""
    numbers, stream = [], hashlib.shake_128(seed).digest(3 * 1024)
    for a, b, c in zip(stream[0::3], stream[1::3], stream[2::3]):
        numbers += [n for n in (a | (b & 15) << 8, b >> 4 | c << 4) if n < Q]
    return numbers[:256]


def noise(seed: bytes, n: int, eta: int) -> list:
    """Algorithm 8, SamplePolyCBD."""
    bits = unpack_bits(hashlib.shake_256(seed + bytes([n])).digest(64 * eta), 1, 512 * eta)
    groups = [bits[i : i + 2 * eta] for i in range(0, len(bits), 2 * eta)]
    return [(sum(group[:eta]) - sum(group[eta:])) % Q for group in groups]


def ntt(polynomial: list) -> list:
    f, zetas, length = polynomial[:], iter(ZETAS[1:]), 128
    while length >= 2:
        for start in range(0, 256, 2 * length):
            zeta = next(zetas)
            for j in range(start, start + length):
                t = zeta * f[j + length] % Q
                f[j], f[j + length] = (f[j] + t) % Q, (f[j] - t) % Q
        length //= 2
    return f


def inverse_ntt(polynomial: list) -> list:
    f, zetas, length = polynomial[:], reversed(ZETAS), 2
    while length <= 128:
        for start in range(0, 256, 2 * length):
            zeta = next(zetas)
            for j in range(start, start + length):
                t, other = f[j], f[j + length]
                f[j], f[j + length] = (t + other) % Q, zeta * (other - t) % Q
        length *= 2
    return [x * 3303 % Q for x in f]


def multiply(f: list, g: list) -> list:
    product = []
    for i, gamma in enumerate(GAMMAS):
        (a, b), (c, d) = f[2 * i : 2 * i + 2], g[2 * i : 2 * i + 2]
        product += [(a * c + b * d * gamma) % Q, (a * d + b * c) % Q]
    return product


def inner(f: list, g: list) -> list:
    total = [0] * 256
    for a, b in zip(f, g):
        total = add(total, multiply(a, b))
    return total


def add(f: list, g: list) -> list:
    return [(a + b) % Q for a, b in zip(f, g)]


def compress(f: list, bits: int) -> list:
    return [((x << bits) + Q // 2) // Q % (1 << bits) for x in f]


def expand(f: list, bits: int) -> list:
    return [(x * Q + (1 << bits - 1)) >> bits for x in f]


def pack(f: list, bits: int) -> bytes:
    return sum(x << bits * i for i, x in enumerate(f)).to_bytes(32 * bits, "little")


def unpack(data: bytes, bits: int) -> list:
    return unpack_bits(data, bits, 256)


def unpack_bits(data: bytes, bits: int, count: int) -> list:
    number = int.from_bytes(data, "little")
    return [number >> bits * i & (1 << bits) - 1 for i in range(count)]
