//! The parts of forward-secret 0-RTT that an application around a stock TLS stack reads and writes (docs/0rtt-fs.md §3,
//! §15).

/// The extension `forward_secret_early_data`.
pub(crate) const EXTENSION: u16 = 0xff5a;

/// X25519, the one kind of one-time key here: OpenSSL 3.0 has no ML-KEM.
pub(crate) const X25519: u16 = 0x001d;

/// The prefix of an identity that is backed by the sealed ticket after it.
pub const PAIRED: &[u8] = b"\xff\x5afs\x01";

/// The prefix of a lone identity.
pub const LONE: &[u8] = b"\xff\x5afs\x02";

/// Returns the extension as it is in a ClientHello: the kinds.
pub(crate) fn kinds() -> Vec<u8> {
    [2_u16, X25519].map(u16::to_be_bytes).concat()
}

/// The extension as it is in a NewSessionTicket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketExtension {
    /// The kind of the one-time key.
    pub kind: u16,
    /// The ticket's id.
    pub id: [u8; 32],
    /// The one-time public key.
    pub public: Vec<u8>,
    /// The lifetime of the key, in seconds.
    pub lifetime: u32,
    /// In bytes.
    pub max_early_data_size: u32,
}

impl TicketExtension {
    /// Parses the extension; `None` if it is malformed.
    pub fn read(body: &[u8]) -> Option<Self> {
        let (kind, rest) = body.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let (public, rest) = vec16(rest)?;
        let (lifetime, rest) = rest.split_first_chunk()?;
        let (max_early_data_size, rest) = rest.split_first_chunk()?;
        rest.is_empty().then(|| Self {
            kind: u16::from_be_bytes(*kind),
            id: *id,
            public: public.to_vec(),
            lifetime: u32::from_be_bytes(*lifetime),
            max_early_data_size: u32::from_be_bytes(*max_early_data_size),
        })
    }

    /// Writes the extension.
    pub fn write(&self) -> Vec<u8> {
        [
            &self.kind.to_be_bytes()[..],
            &self.id,
            &with_len16(&self.public),
            &self.lifetime.to_be_bytes(),
            &self.max_early_data_size.to_be_bytes(),
        ]
        .concat()
    }
}

/// Returns the identity of a pair's forward-secret ticket, in its parts: id and encapsulated.
pub(crate) fn read_paired(identity: &[u8]) -> Option<(&[u8; 32], &[u8])> {
    let (id, rest) = identity.strip_prefix(PAIRED)?.split_first_chunk()?;
    let (encapsulated, rest) = vec16(rest)?;
    rest.is_empty().then_some((id, encapsulated))
}

/// Returns what the proof in a lone identity covers: everything before it.
pub(crate) fn lone_without_proof(id: &[u8; 32], encapsulated: &[u8], ticket: &[u8]) -> Vec<u8> {
    [LONE, id, &with_len16(encapsulated), &with_len16(ticket)].concat()
}

/// The verdict on early data that was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The outcome is unknown.
    Unknown,
    /// No server accepted it or can accept it any more: it may be sent again.
    Burned,
    /// The key was taken to accept it: it must not be sent again.
    Used,
}

impl Verdict {
    /// Parses the extension in EncryptedExtensions. (`lost` is `unknown` to this client, which doesn't watch its
    /// clocks.)
    pub(crate) fn read(body: &[u8]) -> Self {
        match body {
            [1] => Self::Burned,
            [2] => Self::Used,
            _ => Self::Unknown,
        }
    }

    /// Writes the extension.
    pub(crate) fn write(self) -> Vec<u8> {
        vec![match self {
            Self::Unknown => 0,
            Self::Burned => 1,
            Self::Used => 2,
        }]
    }
}

/// Returns a vector with its length before it.
pub(crate) fn with_len16(contents: &[u8]) -> Vec<u8> {
    // Nothing here is as long as 64 KiB: OpenSSL accepts no such identity, and issues no such ticket.
    [&(contents.len() as u16).to_be_bytes()[..], contents].concat()
}

fn vec16(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u16::from_be_bytes(*len).into())
}
