//! Bounds on what a peer can make this side do or store.

/// The first size of buffers for handshake messages, in bytes: most flights fit without certificates, and those with them
/// need few steps more.
pub(crate) const FIRST_MESSAGES: usize = 1024;

/// The longest handshake message, in bytes: room for a chain of ML-DSA certificates.
pub(crate) const MAX_HANDSHAKE_MESSAGE: usize = 128 * 1024;

/// The longest ClientHello, in bytes: it is read before anything is known of the peer.
pub(crate) const MAX_CLIENT_HELLO: usize = 80 * 1024;

/// The longest ClientHello over datagrams, in bytes: room for a hybrid share, a ticket and a cookie.
pub(crate) const MAX_CLIENT_HELLO_OF_DATAGRAMS: usize = 16 * 1024;

/// The longest message where only small ones may come, in bytes.
pub(crate) const MAX_SMALL_MESSAGE: usize = 16 * 1024;

/// How many key updates and tickets may come in a row without application data.
pub(crate) const MAX_POST_HANDSHAKE_IN_A_ROW: u8 = 32;

/// How many records without content may come in a row.
pub(crate) const MAX_EMPTY_RECORDS: u8 = 32;

/// How many user_canceled warnings a peer may send.
pub(crate) const MAX_WARNINGS: u8 = 4;

/// How many change_cipher_spec records are ignored.
pub(crate) const MAX_CHANGE_CIPHER_SPECS: u8 = 8;

/// The longest cookie that a client repeats, and a server sends, in bytes.
pub(crate) const MAX_COOKIE: usize = 4096;

/// How many bytes of a client's own ClientHello may be lists of variable length: with a cookie and
/// everything short, their extension block stays below 64 KiB (RFC 8446 §4.1.2).
pub(crate) const MAX_LISTS_OF_HELLO: usize = (64 - 8) * 1024 - MAX_COOKIE;

/// How many identities of a ClientHello a server examines.
pub(crate) const MAX_IDENTITIES: usize = 8;

/// How many flights a client asks about in one ClientHello.
pub(crate) const MAX_RECEIPTS: usize = 8;

/// How many owner-defined extensions a message may have.
pub(crate) const MAX_OPAQUE_EXTENSIONS: usize = 16;

/// The total length of owner-defined extensions, in bytes.
pub(crate) const MAX_OPAQUE_LEN: usize = 16 * 1024;

/// The most plaintext in one record, in bytes (RFC 8446 §5.1).
pub(crate) const MAX_PLAINTEXT: usize = 1 << 14;

/// The largest record_size_limit: the protocol's own (RFC 8449 §4).
pub(crate) const MAX_RECORD_SIZE_LIMIT: u16 = 16_385;

/// How much longer than its plaintext a protected record may be, in bytes (RFC 8446 §5.2).
pub(crate) const MAX_EXPANSION: usize = 256;
