//! Whether peers that know nothing of this crate's extension are served too.

/// Ids for peers that take part in RFC 8879 with ids of their own choice and nothing else, such as
/// rustls with its `cert_compressors`.
///
/// Such an id is made of the chain alone, so that both ends find it. It is in the clear in every
/// ClientHello, and always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PublicIds {
    /// Not used. Ids look random, and are other ones in every handshake.
    #[default]
    Never,
    /// Used with peers that don't take part otherwise: **an observer who knows a chain recognises its
    /// id**, and so sees which server a client talks to again, even where its name is hidden; and two
    /// ClientHellos with the same ids come from clients that know the same servers.
    ObserversRecogniseChains,
}
