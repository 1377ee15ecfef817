//! Ids for peers that don't know this crate's extension.

/// Ids for peers that only implement RFC 8879, with ids of their own choice, such as rustls with its
/// `cert_compressors`.
///
/// Such an id is derived from the chain alone, so that both ends can compute it. It is in the clear in every
/// ClientHello, and always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PublicIds {
    /// Not used. Ids look random, and change in every handshake.
    #[default]
    Never,
    /// Used with peers that don't take part otherwise: **an observer that knows a chain recognises its id**,
    /// and so sees which server a client returns to, even if its name is hidden; and two ClientHellos with
    /// the same ids come from clients that know the same servers.
    ObserversRecogniseChains,
}
