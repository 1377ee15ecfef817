"""Every value of docs/cached-handshakes-vectors.txt, from docs/cached-handshakes.md.

The numbers in comments are its sections. `check` runs this. What is given, and not computed, are
certificates, whole messages, randoms, and the secrets of connections.
"""

import hashlib
import hmac
from pathlib import Path

from cached_chains import (
    CERTIFICATE,
    RAW_PUBLIC_KEY,
    X509,
    certificate_of_tls12,
    chain_hash,
    compressed,
    content,
    expand_label,
    message,
    prf,
    private,
    public_id,
    read_certificate,
    salted_id,
)
from cached_readers import (
    CERT,
    CERT_REQ,
    READERS,
    Refused,
    read_abbreviated,
    read_bithac,
    read_cached_info,
    read_tickets,
)
from primitives import aes_gcm_open
from reading import Reader, Values, expect, number, vector

VECTORS = Path(__file__).parents[2] / "docs" / "cached-handshakes-vectors.txt"

CERTIFICATE_REQUEST, ENCRYPTED_EXTENSIONS = 13, 8
CACHED_INFO, COMPRESS_CERTIFICATE = 25, 27
CACHED_CERTIFICATES, BITHAC = 0xFF5C, 0xFF5D

HASHES = {
    0x1301: hashlib.sha256, 0x1302: hashlib.sha384, 0xC02F: hashlib.sha256, 0xC030: hashlib.sha384,
}

# What the vector of RFC 7924, appendix A, must give.
RFC_7924 = bytes.fromhex("086eefb4859adfe977defac494fff6b73033b4ce1f86b8f2a9fc0c6bf98605af")


def extension(kind: int, body: bytes) -> bytes:
    return kind.to_bytes(2, "big") + vector(2, body)


def encrypted_extensions(*extensions: bytes) -> bytes:
    return message(ENCRYPTED_EXTENSIONS, vector(2, b"".join(extensions)))


def rfc_7924(v: Values):
    chain(v, X509, [v["certificate"]])
    expect("H", v["H"], RFC_7924)


def chain_of_two(v: Values):
    chain(v, X509, [v["end entity"], v["intermediate"]])


def raw_public_key(v: Values):
    chain(v, RAW_PUBLIC_KEY, [v["SubjectPublicKeyInfo"]])


def chain(v: Values, kind: int, certificates: list):
    whole = certificate_of_tls12(kind, certificates)
    expect("TLS 1.2 message", v["TLS 1.2 message"], whole)
    expect("H", v["H"], hashlib.sha256(whole).digest())


def server_chain(v: Values):  # 5, 7
    kind, whole = number(v["certificate type"]), v["Certificate"]
    hashed = chain_hash(kind, read_certificate(whole)[0])
    expect("H", v["H"], hashed)
    salted, public = salted_id(v["random"], hashed), public_id(hashed)
    expect("id", v["id"], salted)
    expect("public id", v["public id"], public)
    offer = extension(COMPRESS_CERTIFICATE, vector(1, salted))
    expect("compress_certificate", v["compress_certificate"], offer)
    expect("content", v["content"], content(whole, kind))
    expect("CompressedCertificate", v["CompressedCertificate"], compressed(whole, kind, salted))
    stock = compressed(whole, kind, public)
    expect("CompressedCertificate, public id", v["CompressedCertificate, public id"], stock)


def one_id_for_two(v: Values):  # 5
    ids = [salted_id(v["random"], v[f"H {number}"]) for number in range(3)]
    expect("id of H 0 and H 1", v["id of H 0 and H 1"], ids[0])
    assert ids[0] == ids[1] != ids[2], "the first two have one id"
    offer = extension(COMPRESS_CERTIFICATE, vector(1, ids[2]))
    expect("compress_certificate", v["compress_certificate"], offer)


def tickets(v: Values):  # 6, 7
    hash, secret = HASHES[number(v["suite"])], v["resumption master secret"]
    hashed = chain_hash(X509, read_certificate(v["Certificate"])[0])
    expect("H", v["H"], hashed)
    for use in (0, 1):
        context = bytes([use]) + CERT + hashed
        expect("context", v[f"context {use}"], context)
        derived = expand_label(hash, secret, "bithac ticket", context, 10)
        expect("ticket", v[f"ticket {use}"], derived[:8])
        identifier = private(derived[8:])
        expect("id", v[f"id {use}"], identifier)
        made = compressed(v["Certificate"], X509, identifier)
        expect("CompressedCertificate", v[f"CompressedCertificate {use}"], made)


def extensions(v: Values):  # 4, 6
    expect("ClientHello, no ticket", v["ClientHello, no ticket"], extension(CACHED_CERTIFICATES, b""))
    body = v["newest ticket"] + v["spare of another handshake"]
    assert len(read_tickets(body)) == 2
    made = extension(CACHED_CERTIFICATES, body)
    expect("ClientHello, two tickets", v["ClientHello, two tickets"], made)
    answer = encrypted_extensions(extension(CACHED_CERTIFICATES, b""))
    expect("EncryptedExtensions", v["EncryptedExtensions"], answer)
    offer = extension(COMPRESS_CERTIFICATE, vector(1, v["id"]))
    expect("CertificateRequest, found", v["CertificateRequest, found"], offer)


def fleet_ticket(v: Values):  # 6.1
    hashed, certificates = v["H"], read_certificate(v["Certificate"])[0]
    expect("H", hashed, chain_hash(X509, certificates))
    server = hashlib.sha256(v["server name"].lower()).digest()[:16]
    contents = b"\x01" + hashed + certificates[0][-16:] + server + v["id"] + v["time of issue"]
    expect("contents", v["contents"], contents)
    assert number(v["id"]) >= 0xC000 and len(contents) == 75
    sealed = v["sealed"]
    header = b"\x01" + v["id of the ring's key"] + v["salt"]
    expect("header", sealed[: len(header)], header)
    # AES-256-GCM, with keys from SHA-256: the ring's suites.
    label = b"tessera ticket v1"
    secret = hmac.digest(label + b"\x13\x02" + b"\x13\x01", v["secret of the ring's key"], "sha256")
    key = hmac.digest(secret, label + v["salt"] + b"\x01", "sha256")
    bound_to = header + b"tessera cached certificates"
    expect("opened", aes_gcm_open(key, bytes(12), bound_to, sealed[len(header) :]), contents)
    try:
        aes_gcm_open(key, bytes(12), header, sealed[len(header) :])
    except ValueError:
        pass
    else:
        raise AssertionError("it opens as a session ticket")
    given = extension(CACHED_CERTIFICATES, v["id"] + vector(1, sealed))
    expect("NewSessionTicket", v["NewSessionTicket"], given)
    body = v["newest ticket"] + v["spare of another handshake"] + vector(1, sealed)
    assert read_tickets(body)[2] == sealed
    expect("ClientHello", v["ClientHello"], extension(CACHED_CERTIFICATES, body))


def paper(v: Values):  # 9
    server, client, request = v["server Certificate"], v["client Certificate"], v["CertificateRequest"]
    hashed = chain_hash(X509, read_certificate(server)[0])
    of_client = chain_hash(X509, read_certificate(client)[0])
    Reader(request).message(CERTIFICATE_REQUEST)
    secret, hash = v["resumption master secret"], HASHES[number(v["suite"])]
    ticket = expand_label(hash, secret, "bithac ticket", CERT + of_client, 8)
    offers(v, hashed, hashlib.sha256(request).digest(), ticket)
    selected = [
        extension(CACHED_INFO, vector(2, CERT + CERT_REQ)),
        extension(BITHAC, vector(2, CERT + b"\0\0")),
    ]
    expect("EncryptedExtensions", v["EncryptedExtensions"], encrypted_extensions(*selected))
    nothing = encrypted_extensions(extension(BITHAC, vector(2, b"")))
    expect("nothing found", v["EncryptedExtensions, nothing found"], nothing)
    supported = encrypted_extensions(extension(BITHAC, b""))
    expect("first contact", v["EncryptedExtensions, first contact"], supported)
    abbreviated(v, "server Certificate", CERTIFICATE, b"\x20" + content(server, X509))
    abbreviated(v, "client Certificate", CERTIFICATE, b"\x20" + content(client, X509))
    abbreviated(v, "CertificateRequest", CERTIFICATE_REQUEST, vector(1, v["fingerprint of the request"]))


def paper_tls12(v: Values):  # 9.4
    server, client, request = v["server Certificate"], v["client Certificate"], v["CertificateRequest"]
    hashed, of_client = (hashlib.sha256(it).digest() for it in (server, client))
    for whole in (server, client):
        Reader(Reader(whole).message(CERTIFICATE).vector(3)).vector(3)
    Reader(request).message(CERTIFICATE_REQUEST)
    hash = HASHES[number(v["suite"])]
    derived = prf(hash, v["master secret"], "ssc_ticket_label", CERT + of_client, 16)
    expect("spare ticket", v["spare ticket"], derived[8:])
    hello = offers(v, hashed, hashlib.sha256(request).digest(), derived[:8])
    info = extension(CACHED_INFO, vector(2, CERT + CERT_REQ))
    expect("ServerHello, cached_info", v["ServerHello, cached_info"], info)
    found = extension(BITHAC, vector(2, CERT + b"\0\0"))
    expect("ServerHello, bithac", v["ServerHello, bithac"], found)
    abbreviated(v, "server Certificate", CERTIFICATE, vector(1, hashed))
    abbreviated(v, "CertificateRequest", CERTIFICATE_REQUEST, vector(1, v["fingerprint of the request"]))
    abbreviated(v, "client Certificate", CERTIFICATE, vector(1, of_client))
    unbound = message(CERTIFICATE, b"")
    expect("unbound", v["unbound client Certificate, for measuring"], unbound)
    record = 5
    sizes = (record + len(v["abbreviated server Certificate"]), record + len(unbound), hello + len(info + found))
    assert sizes == (42, 9, 107), sizes  # 17: the paper's figures, and the one that differs


def offers(v: Values, hashed: bytes, request: bytes, ticket: bytes) -> int:
    """The ClientHello's extensions on first contact and later; how long the later ones are."""
    expect("H of the server", v["H of the server"], hashed)
    expect("fingerprint of the request", v["fingerprint of the request"], request)
    expect("ticket", v["ticket"], ticket)
    expect("first contact", v["ClientHello, first contact"], extension(BITHAC, b""))
    info = vector(2, CERT + vector(1, hashed) + CERT_REQ + vector(1, request))
    assert len(read_cached_info(info)) == 2
    expect("cached_info", v["ClientHello, cached_info"], extension(CACHED_INFO, info))
    listed = vector(2, CERT + vector(1, ticket))
    assert read_bithac(listed) == [(CERT, ticket)]
    expect("bithac", v["ClientHello, bithac"], extension(BITHAC, listed))
    return 4 + len(info) + 4 + len(listed)


def abbreviated(v: Values, name: str, kind: int, body: bytes):
    read_abbreviated(body)
    expect(name, v[f"abbreviated {name}"], message(kind, body))


def refused(v: Values):  # 13
    """Names say the alert, the reader, and what is wrong."""
    readers = set()
    for name in v:
        alert, what, _ = name.split(": ")
        readers.add(what)
        try:
            READERS[what](v[name])
        except Refused as error:
            assert str(error) == alert, f"{name}: {error}"
        else:
            raise AssertionError(f"{name}: it is read")
    assert readers == {*READERS}, f"nothing is refused by {sorted({*READERS} - readers)}"


SECTIONS = {
    "rfc 7924": rfc_7924,
    "chain of two": chain_of_two,
    "raw public key": raw_public_key,
    "server chain": server_chain,
    "server chain with staples": server_chain,
    "server with a raw public key": server_chain,
    "one id for two chains": one_id_for_two,
    "client chain, sha256": tickets,
    "client chain, sha384": tickets,
    "extensions": extensions,
    "fleet ticket": fleet_ticket,
    "paper": paper,
    "paper, with staples": paper,
    "paper, tls 1.2, sha256": paper_tls12,
    "paper, tls 1.2, sha384": paper_tls12,
    "refused": refused,
}
