//! The versions in hellos (RFC 8446 §4.1.2, §4.2.1).

use super::code_points::ProtocolVersion;

/// The versions of one protocol in its hellos.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// legacy_version of ClientHello and ServerHello.
    pub legacy: ProtocolVersion,
    /// The version that supported_versions offers and selects.
    pub selected: ProtocolVersion,
}

impl Versions {
    /// TLS 1.3.
    pub const TLS_1_3: Self =
        Self { legacy: ProtocolVersion::TLS1_2, selected: ProtocolVersion::TLS1_3 };

    /// DTLS 1.3 (RFC 9147 §5.3).
    pub const DTLS_1_3: Self =
        Self { legacy: ProtocolVersion::DTLS1_2, selected: ProtocolVersion::DTLS1_3 };

    /// Returns whether a ClientHello has a legacy_cookie: in DTLS alone (RFC 9147 §5.3).
    pub(crate) fn has_legacy_cookie(&self) -> bool {
        self.selected == ProtocolVersion::DTLS1_3
    }

    /// Returns whether a ClientHello must not have this legacy_version: SSL 3.0 and older (RFC 8446 §D.5), or older
    /// than DTLS 1.0, whose numbers count down.
    pub(crate) fn refuse(&self, legacy: ProtocolVersion) -> bool {
        if self.has_legacy_cookie() { legacy.0 > 0xfeff } else { legacy.0 <= 0x0300 }
    }
}
