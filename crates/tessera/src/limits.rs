//! Bounds on what a peer can make this side do or store.

use alloc::vec::Vec;

use crate::error::{Error, require};

/// What a side accepts of its peer. A message is refused by the length that it announces, with decode_error, before
/// memory is taken for it.
///
/// The defaults are for servers and desktops. A device states less:
///
/// ```
/// use tessera::Limits;
///
/// // A client with a PSK.
/// let of_psk = Limits { handshake_message: 1024, certificate_message: 1024, tickets: 0, ..Limits::default() };
/// // A client that expects a chain of up to 8 KB.
/// let of_chain = Limits { handshake_message: 2048, certificate_message: 8192, tickets: 1, ..Limits::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest message of a handshake, with its header of four bytes; tickets too. ServerHello has up to 1,300 bytes
    /// with X25519MLKEM768, CertificateVerify 5,000 with ML-DSA-87. At least 256. Default: 128 KiB.
    pub handshake_message: usize,
    /// The longest Certificate, also after it was decompressed, and any message in its place. At least `handshake_message`.
    /// Default: 128 KiB, room for a chain of ML-DSA certificates.
    pub certificate_message: usize,
    /// The longest ClientHello that a server reads, before it knows anything of the client. At least 256. Default: 80 KiB.
    /// Over datagrams never more than 16 KiB.
    pub client_hello: usize,
    /// How many of the tickets that arrive together a client keeps, as
    /// [`Event::NewSession`](crate::Event::NewSession); it drops those after them. Default: 32, all that may come.
    pub tickets: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake_message: MAX_HANDSHAKE_MESSAGE,
            certificate_message: MAX_HANDSHAKE_MESSAGE,
            client_hello: 80 * 1024,
            tickets: MAX_POST_HANDSHAKE_IN_A_ROW,
        }
    }
}

impl Limits {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self { handshake_message, certificate_message, client_hello, .. } = *self;
        let fit = [handshake_message, certificate_message, client_hello];
        require(
            self.tickets <= MAX_POST_HANDSHAKE_IN_A_ROW
                && handshake_message <= certificate_message
                && fit.iter().all(|len| (256..1 << 24).contains(len)),
            "limits: 256 bytes to 16 MiB, certificate_message at least handshake_message, and at \
             most 32 tickets",
        )
    }

    /// Returns the longest message where only small ones may come, in bytes.
    pub(crate) fn small_message(&self) -> usize {
        self.handshake_message.min(MAX_SMALL_MESSAGE)
    }

    /// Returns the first size of buffers for handshake messages, in bytes: most flights fit without certificates, and
    /// those with them need few steps more. A device has no room for that.
    pub(crate) fn first_messages(&self) -> u16 {
        (self.handshake_message / 8).min(1024) as u16
    }
}

/// Makes room for `more` elements, such as bytes, that a peer sends.
pub(crate) fn reserve<T>(to: &mut Vec<T>, more: usize) -> Result<(), Error> {
    to.try_reserve_exact(more).map_err(|_| Error::OutOfMemory(more * size_of::<T>()))
}

/// Copies bytes that a peer sent.
pub(crate) fn copied(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    joined(&[bytes])
}

/// Joins byte strings of which a peer chose the length, such as a part of its certificate, in one allocation of exactly
/// their length: what verifiers and codecs copy of a peer.
///
/// # Errors
/// There is no memory for them: [`Error::OutOfMemory`].
pub fn joined(parts: &[&[u8]]) -> Result<Vec<u8>, Error> {
    let mut joined = Vec::new();
    reserve(&mut joined, parts.iter().map(|part| part.len()).sum())?;
    parts.iter().for_each(|part| joined.extend_from_slice(part));
    Ok(joined)
}

/// The longest handshake message by default, in bytes.
const MAX_HANDSHAKE_MESSAGE: usize = 128 * 1024;

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
