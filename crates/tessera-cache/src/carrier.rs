//! In which messages cached chains travel.

use tessera::wire::ExtensionType;

/// How two ends say to each other what they have cached. A client uses one way; a server always understands
/// the default one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Carrier {
    /// Algorithms of compress_certificate, salted, and the extension cached_certificates.
    #[default]
    CompressCertificate,
    /// cached_info (RFC 7924), and the extension of BiTHaC, whose type this is, for clients' chains: for
    /// comparing, and for servers that know RFC 7924 alone. **Each ClientHello has the hash of the server's
    /// chain in the clear**, always the same: an observer sees which server a client talks to again, even
    /// where its name is hidden, and knows a client again that alone has a chain.
    PaperWithHashesInTheClear(ExtensionType),
}

impl Carrier {
    /// BiTHaC's, with an extension type for private use: its paper names none.
    pub const PAPER: Self = Self::PaperWithHashesInTheClear(ExtensionType(0xff5d));

    /// The type of BiTHaC's extension, where it is used.
    pub(crate) fn paper(self) -> Option<ExtensionType> {
        match self {
            Self::CompressCertificate => None,
            Self::PaperWithHashesInTheClear(typ) => Some(typ),
        }
    }
}
