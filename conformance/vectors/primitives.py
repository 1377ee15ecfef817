"""X25519, ML-KEM-768 and AES-GCM, as their standards write them down: slow, and for vectors alone."""

import hashlib


# --- X25519 (RFC 7748 §5)

P = 2**255 - 19
BASE_POINT = (9).to_bytes(32, "little")


def x25519(scalar: bytes, point: bytes) -> bytes:
    k = int.from_bytes(scalar, "little") & ~7 & (1 << 255) - 1 | 1 << 254
    u = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3, swapped = 1, 0, u, 1, 0
    for position in reversed(range(255)):
        bit = k >> position & 1
        if swapped != bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swapped = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % P, b * b % P, d * a % P, c * b % P
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % P, u * (da - cb) ** 2 % P
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


# --- ML-KEM-768 (FIPS 203); polynomials are lists of 256 numbers below Q

Q = 3329
RANK = 3
REVERSED = [int(f"{i:07b}"[::-1], 2) for i in range(128)]
ZETAS = [pow(17, i, Q) for i in REVERSED]
GAMMAS = [pow(17, 2 * i + 1, Q) for i in REVERSED]


def ml_kem_keys(d: bytes) -> tuple[bytes, list]:
    """The encapsulation key, and the secret vector (algorithm 13, K-PKE.KeyGen)."""
    seeds = hashlib.sha3_512(d + bytes([RANK])).digest()
    rho, sigma = seeds[:32], seeds[32:]
    secret = [ntt(noise(sigma, n)) for n in range(RANK)]
    error = [ntt(noise(sigma, RANK + n)) for n in range(RANK)]
    public = [add(inner(row, secret), e) for row, e in zip(matrix(rho), error)]
    return b"".join(pack(p, 12) for p in public) + rho, secret


def ml_kem_decapsulate(d: bytes, ciphertext: bytes) -> bytes:
    """The shared secret (algorithm 18); a ciphertext that does not fit is an error here."""
    key, secret = ml_kem_keys(d)
    u = [expand(unpack(ciphertext[320 * i : 320 * i + 320], 10), 10) for i in range(RANK)]
    v = expand(unpack(ciphertext[320 * RANK :], 4), 4)
    masked = inverse_ntt(inner(secret, [ntt(p) for p in u]))
    message = pack(compress([(a - b) % Q for a, b in zip(v, masked)], 1), 1)
    shared = hashlib.sha3_512(message + hashlib.sha3_256(key).digest()).digest()
    if encrypt(key, message, shared[32:]) != ciphertext:
        raise ValueError("the ciphertext was not made for this key")
    return shared[:32]


def encrypt(key: bytes, message: bytes, coins: bytes) -> bytes:
    """Algorithm 14, K-PKE.Encrypt."""
    public = [unpack(key[384 * i : 384 * i + 384], 12) for i in range(RANK)]
    columns = zip(*matrix(key[384 * RANK :]))
    y = [ntt(noise(coins, n)) for n in range(RANK)]
    u = [
        add(inverse_ntt(inner(column, y)), noise(coins, RANK + n))
        for n, column in enumerate(columns)
    ]
    v = add(inverse_ntt(inner(public, y)), noise(coins, 2 * RANK))
    v = add(v, expand(unpack(message, 1), 1))
    return b"".join(pack(compress(p, 10), 10) for p in u) + pack(compress(v, 4), 4)


def matrix(rho: bytes) -> list:
    return [[uniform(rho + bytes([j, i])) for j in range(RANK)] for i in range(RANK)]


def uniform(seed: bytes) -> list:
    """Algorithm 7, SampleNTT."""
    numbers, stream = [], hashlib.shake_128(seed).digest(3 * 1024)
    for a, b, c in zip(stream[0::3], stream[1::3], stream[2::3]):
        numbers += [n for n in (a | (b & 15) << 8, b >> 4 | c << 4) if n < Q]
    return numbers[:256]


def noise(seed: bytes, n: int) -> list:
    """Algorithm 8, SamplePolyCBD with eta 2."""
    bits = unpack_bits(hashlib.shake_256(seed + bytes([n])).digest(128), 1, 1024)
    return [(sum(bits[i : i + 2]) - sum(bits[i + 2 : i + 4])) % Q for i in range(0, 1024, 4)]


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


# --- AES (FIPS 197) in Galois/Counter Mode (NIST SP 800-38D)


def aes_gcm_open(key: bytes, nonce: bytes, header: bytes, sealed: bytes) -> bytes:
    ciphertext, tag = sealed[:-16], sealed[-16:]
    lengths = (8 * len(header)).to_bytes(8, "big") + (8 * len(ciphertext)).to_bytes(8, "big")
    digest = ghash(aes(key, bytes(16)), padded(header) + padded(ciphertext) + lengths)
    if xor(digest, aes(key, nonce + b"\0\0\0\1")) != tag:
        raise ValueError("the record does not open")
    blocks = range(0, len(ciphertext), 16)
    stream = b"".join(aes(key, nonce + (2 + i // 16).to_bytes(4, "big")) for i in blocks)
    return xor(ciphertext, stream)


def ghash(key: bytes, data: bytes) -> bytes:
    h, y = int.from_bytes(key, "big"), 0
    for i in range(0, len(data), 16):
        y ^= int.from_bytes(data[i : i + 16], "big")
        product, v = 0, h
        for bit in reversed(range(128)):
            if y >> bit & 1:
                product ^= v
            v = v >> 1 ^ (0xE1 << 120 if v & 1 else 0)
        y = product
    return y.to_bytes(16, "big")


def aes(key: bytes, block: bytes) -> bytes:
    keys = round_keys(key)
    state = xor(block, keys[0])
    for number, round_key in enumerate(keys[1:], 1):
        state = bytes(S_BOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16))
        if number < len(keys) - 1:
            state = mix_columns(state)
        state = xor(state, round_key)
    return state


def round_keys(key: bytes) -> list:
    words, constant = [key[i : i + 4] for i in range(0, len(key), 4)], 1
    in_key = len(words)
    while len(words) < 4 * (in_key + 7):
        word = words[-1]
        if len(words) % in_key == 0:
            word = bytes(S_BOX[b] for b in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = times(constant, 2)
        elif in_key > 6 and len(words) % in_key == 4:
            word = bytes(S_BOX[b] for b in word)
        words.append(xor(words[-in_key], word))
    return [b"".join(words[i : i + 4]) for i in range(0, len(words), 4)]


def mix_columns(state: bytes) -> bytes:
    mixed = []
    for a, b, c, d in zip(*[iter(state)] * 4):
        for w, x, y, z in ((a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c)):
            mixed.append(times(w, 2) ^ times(x, 3) ^ y ^ z)
    return bytes(mixed)


def times(a: int, b: int) -> int:
    """In GF(2^8)."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def s_box() -> bytes:
    box = bytearray([0x63])
    for value in range(1, 256):
        inverse = next(i for i in range(256) if times(value, i) == 1)
        rotated = inverse * 0x101
        turns = (rotated >> turn & 0xFF for turn in (7, 6, 5, 4))
        substituted = inverse ^ 0x63
        for turn in turns:
            substituted ^= turn
        box.append(substituted)
    return bytes(box)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 16)


def xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b))


S_BOX = s_box()
