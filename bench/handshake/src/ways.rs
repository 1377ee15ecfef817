//! The ways of connecting that are compared.

use tessera::crypto::KeyForm;
use tessera::handshake::Facts;
use tessera::resume::Continuation;
use tessera::wire::NamedGroup;

/// A way of connecting.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// Its name.
    pub name: &'static str,
    /// What the client begins with.
    pub kind: Kind,
    /// The group of the key exchange, if there is one.
    pub group: NamedGroup,
    /// How the server proves that it has the key of its certificate.
    pub proof: Proof,
    /// How certificates are checked and sent.
    pub certificates: Certificates,
    /// The form in which the vault keeps one-time keys.
    pub form: KeyForm,
    /// Whether key pairs are made ahead; their time is counted apart.
    pub ahead: bool,
    /// The connection of rustls that it is compared with.
    pub rustls: RustlsWay,
}

/// What a client begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing; the server has a certificate, which its authority signed with ECDSA P-256.
    Full,
    /// The same, and the client has one too.
    Mutual,
    /// A ticket, with a key exchange.
    Resumed,
    /// A ticket, without a key exchange.
    PskOnly,
    /// A ticket, under which it sends replayable early data, and a key exchange.
    Replayable,
    /// A ticket with a one-time key of this kind, for which it sends early data; the handshake then continues in this way.
    ForwardSecret(NamedGroup, Continuation),
}

/// How a server proves that it has the key of its certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It signs with ECDSA P-256.
    P256,
    /// It signs with ML-DSA-44.
    MlDsa44,
    /// It decapsulates with ML-KEM-768 (docs/kem-auth.md).
    MlKem768,
}

/// How certificates are checked and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificates {
    /// Each is sent, and verified.
    Verified,
    /// Each is sent; the verifiers remember that they accepted it.
    Known,
    /// Each is sent as a hash; the verifiers remember it.
    CachedAndKnown,
    /// Each is sent and verified; both ends have caches that never remember a chain.
    NeverCached,
}

impl Certificates {
    /// Checks that the server's certificate, and the client's if there was one, travelled so.
    pub(crate) fn check(self, of_server: &Facts) {
        let is_cached = self == Self::CachedAndKnown;
        for transfer in
            [of_server.own_certificate, of_server.peer_certificate].into_iter().flatten()
        {
            assert_eq!(transfer.encoded_with.is_some(), is_cached, "{self:?}");
        }
    }
}

/// What rustls does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RustlsWay {
    /// A full handshake with X25519.
    FullX25519,
    /// A full handshake with X25519MLKEM768.
    FullHybrid,
    /// A full handshake with X25519 in which both ends have certificates.
    MutualX25519,
    /// A resumption with X25519.
    ResumedX25519,
    /// A resumption with X25519MLKEM768.
    ResumedHybrid,
}

impl RustlsWay {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::FullX25519,
        Self::FullHybrid,
        Self::MutualX25519,
        Self::ResumedX25519,
        Self::ResumedHybrid,
    ];

    /// Whether it resumes.
    #[must_use]
    pub fn resumes(self) -> bool {
        matches!(self, Self::ResumedX25519 | Self::ResumedHybrid)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FullX25519 => "rustls: full, x25519",
            Self::FullHybrid => "rustls: full, hybrid",
            Self::MutualX25519 => "rustls: mutual, x25519",
            Self::ResumedX25519 => "rustls: psk-dhe, x25519",
            Self::ResumedHybrid => "rustls: psk-dhe, hybrid",
        }
    }
}

const X25519: NamedGroup = NamedGroup::X25519;
const HYBRID: NamedGroup = NamedGroup::X25519MLKEM768;
const ONE_TIME_PSK: NamedGroup = NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED;

/// The base of all others.
const RESUMED: Way = Way {
    name: "psk-dhe, hybrid",
    kind: Kind::Resumed,
    group: HYBRID,
    proof: Proof::P256,
    certificates: Certificates::Verified,
    form: KeyForm::Expanded,
    ahead: false,
    rustls: RustlsWay::ResumedHybrid,
};

const fn forward_secret(
    name: &'static str,
    kind: NamedGroup,
    continuation: Continuation,
    group: NamedGroup,
) -> Way {
    Way { name, kind: Kind::ForwardSecret(kind, continuation), group, ..RESUMED }
}

const fn ahead(name: &'static str, way: Way) -> Way {
    Way { name, ahead: true, ..way }
}

const FULL_X25519: Way = Way {
    name: "full, x25519",
    kind: Kind::Full,
    group: X25519,
    rustls: RustlsWay::FullX25519,
    ..RESUMED
};
const FULL_HYBRID: Way =
    Way { name: "full, hybrid", kind: Kind::Full, rustls: RustlsWay::FullHybrid, ..RESUMED };
const RESUMED_X25519: Way =
    Way { name: "psk-dhe, x25519", group: X25519, rustls: RustlsWay::ResumedX25519, ..RESUMED };
const MUTUAL: Way = Way {
    name: "mutual, x25519",
    kind: Kind::Mutual,
    rustls: RustlsWay::MutualX25519,
    ..FULL_X25519
};
const FS_X25519: Way =
    forward_secret("0rtt-fs x25519, then psk_ke", X25519, Continuation::PskKe, X25519);
const FS_HYBRID: Way =
    forward_secret("0rtt-fs hybrid, then psk_ke", HYBRID, Continuation::PskKe, HYBRID);

/// All of them.
pub const WAYS: [Way; 25] = [
    FULL_X25519,
    ahead("full, x25519, keys ahead", FULL_X25519),
    FULL_HYBRID,
    ahead("full, hybrid, keys ahead", FULL_HYBRID),
    Way { name: "full, hybrid, ml-dsa-44", proof: Proof::MlDsa44, ..FULL_HYBRID },
    Way { name: "full, hybrid, ml-kem-768", proof: Proof::MlKem768, ..FULL_HYBRID },
    Way { name: "full, x25519, known chain", certificates: Certificates::Known, ..FULL_X25519 },
    MUTUAL,
    Way { name: "mutual, x25519, known chains", certificates: Certificates::Known, ..MUTUAL },
    Way {
        name: "mutual, x25519, cached and known chains",
        certificates: Certificates::CachedAndKnown,
        ..MUTUAL
    },
    Way {
        name: "mutual, x25519, caches that never hit",
        certificates: Certificates::NeverCached,
        ..MUTUAL
    },
    RESUMED_X25519,
    ahead("psk-dhe, x25519, keys ahead", RESUMED_X25519),
    RESUMED,
    ahead("psk-dhe, hybrid, keys ahead", RESUMED),
    Way { name: "0-rtt (replayable), hybrid", kind: Kind::Replayable, ..RESUMED },
    Way { name: "psk-only", kind: Kind::PskOnly, group: X25519, ..RESUMED },
    FS_X25519,
    ahead("0rtt-fs x25519, then psk_ke, keys ahead", FS_X25519),
    forward_secret(
        "0rtt-fs x25519, then psk_dhe_ke x25519",
        X25519,
        Continuation::PskDheKe,
        X25519,
    ),
    FS_HYBRID,
    ahead("0rtt-fs hybrid, then psk_ke, keys ahead", FS_HYBRID),
    forward_secret(
        "0rtt-fs hybrid, then psk_dhe_ke hybrid",
        HYBRID,
        Continuation::PskDheKe,
        HYBRID,
    ),
    Way { name: "0rtt-fs hybrid of seeds, then psk_ke", form: KeyForm::Seed, ..FS_HYBRID },
    forward_secret(
        "0rtt-fs one-time psk (if both ends delete it), then psk_ke",
        ONE_TIME_PSK,
        Continuation::PskKe,
        X25519,
    ),
];
