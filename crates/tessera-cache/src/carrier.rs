//! The messages that carry cached chains.

use tessera::wire::ExtensionType;

/// How two ends announce cached chains to each other. A client uses one carrier; a server always understands
/// the default one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Carrier {
    /// Salted algorithm numbers in compress_certificate, and the extension cached_certificates.
    #[default]
    CompressCertificate,
    /// cached_info (RFC 7924), and BiTHaC's extension, of this type, for clients' chains: for comparison, and
    /// for servers that only know RFC 7924. **Each ClientHello has the hash of the server's chain in the
    /// clear**, always the same: an observer sees which server a client returns to, even if its name is
    /// hidden, and recognises a client that is the only one with a chain.
    PaperWithHashesInTheClear(ExtensionType),
}

impl Carrier {
    /// BiTHaC's carrier, with an extension type for private use: its paper specifies none.
    pub const PAPER: Self = Self::PaperWithHashesInTheClear(ExtensionType(0xff5d));

    /// Returns the type of BiTHaC's extension, if that carrier is used.
    pub(crate) fn paper(self) -> Option<ExtensionType> {
        match self {
            Self::CompressCertificate => None,
            Self::PaperWithHashesInTheClear(typ) => Some(typ),
        }
    }
}
