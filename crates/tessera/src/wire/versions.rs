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

    /// Returns whether a ClientHello must not have this legacy_version: SSL 3.0 and older (RFC 8446 §D.5).
    pub(crate) fn refuse(&self, legacy: ProtocolVersion) -> bool {
        legacy.0 <= 0x0300
    }
}
