"""Chains for tests and measurements, and what is checked of a peer's chain.

Small on purpose: no revocation, no name constraints. What a product needs is in crates/tessera-webpki.
"""

import hashlib
from collections import namedtuple
from datetime import datetime, timedelta, timezone

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from .alerts import BAD_CERTIFICATE, CERTIFICATE_EXPIRED, UNKNOWN_CA, UNSUPPORTED_CERTIFICATE, Alert

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
P256, RSA_2048, RSA_4096 = "p256", "rsa2048", "rsa4096"
LONGEST_CHAIN = 8

# --- Making chains

# `chain`: DER, the leaf first, without the root. `issuer` signs more leaves.
Identity = namedtuple("Identity", "chain key root issuer")
Issuer = namedtuple("Issuer", "certificate key")


def new_key(kind: str):
    if kind == P256:
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=int(kind[3:]))


def make_identity(kind: str, name: str, purpose) -> Identity:
    """A chain of three: leaf and intermediate are sent, the root is not."""
    root_key, intermediate_key = new_key(kind), new_key(kind)
    root_name = _name(f"{name} root")
    root = _certificate(root_name, root_key.public_key(), root_name, root_key, None)
    intermediate_name = _name(f"{name} intermediate")
    intermediate = _certificate(intermediate_name, intermediate_key.public_key(), root_name, root_key, None)
    issuer = Issuer(intermediate, intermediate_key)
    return make_leaf(issuer, new_key(kind), name, purpose)._replace(root=root)


def make_leaf(issuer: Issuer, key, name: str, purpose, days: float = 365) -> Identity:
    """One more leaf of an issuer; a key may have several."""
    leaf = _certificate(
        _name(name), key.public_key(), issuer.certificate.subject, issuer.key, (name, purpose), days=days
    )
    return Identity([der(leaf), der(issuer.certificate)], key, None, issuer)


def make_self_signed(kind: str, name: str, purpose) -> Identity:
    """A chain of one, which is its own anchor."""
    key, subject = new_key(kind), _name(name)
    certificate = _certificate(subject, key.public_key(), subject, key, (name, purpose))
    return Identity([der(certificate)], key, certificate, None)


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Plant"), x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    )


def _certificate(subject, public_key, issuer, issuer_key, leaf, days: float = 3650):
    """An authority's certificate, or a leaf's for (name, purpose)."""
    now = datetime.now(timezone.utc).replace(microsecond=0)
    issuer_public = issuer_key.public_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=leaf is None, path_length=None), critical=True)
        .add_extension(_key_usage(leaf is None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_public), critical=False)
    )
    if leaf:
        name, purpose = leaf
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _key_usage(is_authority: bool) -> x509.KeyUsage:
    names = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement key_cert_sign crl_sign"
        " encipher_only decipher_only"
    )
    granted = {"key_cert_sign", "crl_sign"} if is_authority else {"digital_signature"}
    return x509.KeyUsage(**{name: name in granted for name in names.split()})


def der(certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)


def pem_of_chain(chain: list) -> bytes:
    certificates = (x509.load_der_x509_certificate(one) for one in chain)
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in certificates)


def pem_of_key(key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


# --- Judging chains

# What stays of a chain that was accepted: the paper's entry (key and dates), and what else must be asked each time.
Accepted = namedtuple("Accepted", "public_key not_before not_after names subject")


class Trust:
    """Anchors and purpose; `digest` changes with them, and is a part of every cache's key."""

    def __init__(self, roots: list, purpose):
        self.roots, self.purpose = list(roots), purpose
        self.digest = hashlib.sha256(b"".join(sorted(der(root) for root in roots)) + str(purpose).encode()).digest()
        # Signatures of certificates that were checked: what a cache of accepted chains saves.
        self.checked = 0

    def judge(self, chain: list, name, now: float) -> Accepted:
        """Signatures, anchor, dates, purpose, and the name if there is one."""
        if not 0 < len(chain) <= LONGEST_CHAIN:
            raise Alert(BAD_CERTIFICATE, f"a chain of {len(chain)} certificates")
        try:
            certificates = [x509.load_der_x509_certificate(one) for one in chain]
            accepted = self._judge(certificates)
        except ValueError as error:
            raise Alert(BAD_CERTIFICATE, f"a certificate can't be read: {error}") from None
        judge_again(accepted, name, now)
        return accepted

    def _judge(self, certificates: list) -> Accepted:
        leaf = certificates[0]
        _must_serve(leaf, self.purpose)
        for place, certificate in enumerate(certificates):
            if certificate in self.roots:
                break
            issuer = certificates[place + 1] if place + 1 < len(certificates) else self._root_of(certificate)
            if issuer.subject != certificate.issuer or not _is_authority(issuer):
                raise Alert(UNKNOWN_CA, "a certificate is not its neighbour's")
            self._check_signature(certificate, issuer.public_key())
        return Accepted(
            leaf.public_key(),
            max(_date(one, "not_valid_before") for one in certificates),
            min(_date(one, "not_valid_after") for one in certificates),
            tuple(_names(leaf)),
            leaf.subject.rfc4514_string(),
        )

    def _root_of(self, certificate):
        for root in self.roots:
            if root.subject == certificate.issuer:
                return root
        raise Alert(UNKNOWN_CA, "the chain ends at an authority that is not trusted here")

    def _check_signature(self, certificate, key):
        self.checked += 1
        algorithm = certificate.signature_hash_algorithm
        if algorithm is None:
            raise Alert(UNSUPPORTED_CERTIFICATE, "a certificate is signed in a way that is not read here")
        parameters = (padding.PKCS1v15(), algorithm) if isinstance(key, rsa.RSAPublicKey) else (ec.ECDSA(algorithm),)
        try:
            key.verify(certificate.signature, certificate.tbs_certificate_bytes, *parameters)
        except InvalidSignature:
            raise Alert(BAD_CERTIFICATE, "the signature of a certificate is wrong") from None


def judge_again(accepted: Accepted, name, now: float):
    """What time and destination change, for a chain that was accepted before."""
    if not is_in_time(accepted, now):
        raise Alert(CERTIFICATE_EXPIRED, "a certificate is not valid yet, or no longer")
    if name is not None and name not in accepted.names:
        raise Alert(BAD_CERTIFICATE, f"the certificate is not {name}'s")


def is_in_time(accepted: Accepted, now: float) -> bool:
    return accepted.not_before <= now <= accepted.not_after


def _date(certificate, field: str) -> float:
    # Since version 42 the names with _utc; before, dates without a zone.
    date = getattr(certificate, field + "_utc", None)
    return (date or getattr(certificate, field).replace(tzinfo=timezone.utc)).timestamp()


def _names(leaf) -> list:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(x509.DNSName)


def _is_authority(certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _must_serve(leaf, purpose):
    try:
        usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    if purpose not in usage:
        raise Alert(UNSUPPORTED_CERTIFICATE, "the certificate is for another purpose")
