//! The ways to connect whose memory is read.

use std::fmt;

use clap::ValueEnum;
use tessera::resume::Continuation;
use tessera::wire::{CipherSuite, NamedGroup};

/// A way to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Certificates of the server.
    Full,
    /// Certificates of both.
    Mutual,
    /// A certificate of the server, with a KEM.
    Kem,
    /// Certificates of both, with KEMs.
    KemMutual,
    /// A KEM's key of the server that the client knows.
    KnownKey,
    /// A ticket and a key exchange.
    PskDhe,
    /// Forward-secret early data, a hybrid one-time key, another key exchange.
    #[value(name = "0rtt-fs")]
    Fs,
    /// The same with SHA-384.
    #[value(name = "0rtt-fs-sha384")]
    FsSha384,
    /// The same with X25519 alone.
    #[value(name = "0rtt-fs-x25519")]
    FsX25519,
    /// Forward-secret early data, a hybrid one-time key, and no other key exchange.
    #[value(name = "0rtt-fs-psk-ke")]
    FsPskKe,
    /// The same, and the vault keeps seeds.
    #[value(name = "0rtt-fs-seeds-psk-ke")]
    FsSeedsPskKe,
    /// The same with X25519.
    #[value(name = "0rtt-fs-x25519-psk-ke")]
    FsX25519PskKe,
    /// Forward-secret early data, a hybrid one-time key, another key exchange, and key pairs made ahead.
    #[value(name = "0rtt-fs-keys-ahead")]
    FsKeysAhead,
    /// Forward-secret early data that is a request of HTTP.
    #[value(name = "0rtt-fs-http")]
    FsHttp,
    /// Over datagrams: certificates of the server.
    DtlsFull,
    /// Over datagrams: certificates of both, with KEMs.
    DtlsKemMutual,
    /// Over datagrams: a ticket and a key exchange.
    DtlsPskDhe,
    /// Over datagrams: forward-secret early data, a hybrid one-time key, another key exchange.
    #[value(name = "dtls-0rtt-fs")]
    DtlsFs,
    /// Over datagrams: both ends change their keys.
    DtlsKeyUpdate,
    /// Over datagrams: both ends sleep, and wake for the last data.
    DtlsSleep,
}

/// What carries a connection, and what drives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// TCP, and tokio.
    Stream,
    /// UDP, and tokio.
    Datagrams,
    /// UDP, and the engine alone: tokio has no sleep.
    SleepingDatagrams,
}

impl Way {
    /// Returns what carries its connections.
    pub fn carrier(self) -> Carrier {
        match self {
            Self::DtlsFull
            | Self::DtlsKemMutual
            | Self::DtlsPskDhe
            | Self::DtlsFs
            | Self::DtlsKeyUpdate => Carrier::Datagrams,
            Self::DtlsSleep => Carrier::SleepingDatagrams,
            _ => Carrier::Stream,
        }
    }

    /// Whether the ends authenticate with KEMs.
    pub fn has_kems(self) -> bool {
        matches!(self, Self::Kem | Self::KemMutual | Self::DtlsKemMutual)
    }

    /// Whether the client has a certificate.
    pub fn is_mutual(self) -> bool {
        matches!(self, Self::Mutual | Self::KemMutual | Self::DtlsKemMutual)
    }

    /// Whether the client sends forward-secret early data.
    pub fn has_early_data(self) -> bool {
        self.is_resumption() && !matches!(self, Self::PskDhe | Self::DtlsPskDhe)
    }

    /// Whether the client resumes with a ticket.
    pub fn is_resumption(self) -> bool {
        !matches!(
            self,
            Self::Full
                | Self::Mutual
                | Self::Kem
                | Self::KemMutual
                | Self::KnownKey
                | Self::DtlsFull
                | Self::DtlsKemMutual
                | Self::DtlsKeyUpdate
                | Self::DtlsSleep
        )
    }

    /// Returns how a handshake continues after early data.
    pub fn continuation(self) -> Continuation {
        match self {
            Self::FsPskKe | Self::FsSeedsPskKe | Self::FsX25519PskKe => Continuation::PskKe,
            _ => Continuation::PskDheKe,
        }
    }

    /// Whether `tessera serve` supports it; a program of this test does the others.
    pub fn is_served(self) -> bool {
        self.continuation() == Continuation::PskDheKe
            && self.carrier() != Carrier::SleepingDatagrams
            && !self.takes_keys_ahead()
    }

    /// Whether the end that is attacked takes key pairs made ahead.
    pub fn takes_keys_ahead(self) -> bool {
        self == Self::FsKeysAhead
    }

    /// Returns the mode of `tessera connect --count`, if it has one; a program of this test does the others.
    pub fn load_mode(self) -> Option<&'static str> {
        match self {
            Self::Full | Self::Kem | Self::KnownKey => Some("full"),
            Self::PskDhe => Some("psk-dhe"),
            Self::Fs | Self::FsX25519 => Some("0rtt-fs"),
            _ => None,
        }
    }

    /// Returns the groups of both ends.
    pub fn groups(self) -> &'static [NamedGroup] {
        match self {
            Self::FsX25519 | Self::FsX25519PskKe | Self::Mutual => &[NamedGroup::X25519],
            _ => &[NamedGroup::X25519MLKEM768, NamedGroup::X25519],
        }
    }

    /// Returns the suite of both ends.
    pub fn suite(self) -> CipherSuite {
        match self {
            Self::FsSha384 => CipherSuite::TLS_AES_256_GCM_SHA384,
            Self::Mutual => CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
            _ => CipherSuite::TLS_AES_128_GCM_SHA256,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
