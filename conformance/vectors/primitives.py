"""X25519 and AES-GCM, as their standards write them down: slow, and for vectors alone."""

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
