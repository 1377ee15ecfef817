"""One-time KEMs: every value of docs/one-time-kem-vectors.txt but random bytes, from docs/one-time-kem.md.

The numbers in comments are its sections. `check` runs this.
"""

import hashlib
from functools import partial
from pathlib import Path

from ml_kem import ML_KEM_512, ML_KEM_768, ML_KEM_1024, MlKem
from reading import Values, expect

VECTORS = Path(__file__).parents[2] / "docs" / "one-time-kem-vectors.txt"
DOMAIN = b"Tessera one-time ML-KEM T_H EXPERIMENTAL"  # 2


def t_h(kem: MlKem, values: Values):  # 2
    key, secret = kem.keys(values["d"])
    expect("ek", values["ek"], key)
    ciphertext = kem.encrypt(key, values["m"], values["r"])
    expect("c", values["c"], ciphertext)
    for message in (values["m"], kem.decrypt(secret, ciphertext)):
        hashed = DOMAIN + message + ciphertext + hashlib.sha3_256(key).digest()
        expect("K", values["K"], hashlib.sha3_256(hashed).digest())


SECTIONS = {
    "ML-KEM-512": partial(t_h, ML_KEM_512),
    "ML-KEM-768": partial(t_h, ML_KEM_768),
    "ML-KEM-1024": partial(t_h, ML_KEM_1024),
}
