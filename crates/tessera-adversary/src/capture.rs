//! The parts of a recording that need no keys.

use tessera::wire::CipherSuite;

use crate::Capture;

const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const PRE_SHARED_KEY: u16 = 41;

/// The plaintext of a handshake.
pub(crate) struct Hellos {
    /// The ClientHello, its header included.
    pub(crate) client: Vec<u8>,
    /// The identities of the PSKs that it offers.
    pub(crate) identities: Vec<Vec<u8>>,
    /// The ServerHello, its header included.
    pub(crate) server: Vec<u8>,
    /// The suite that the server chose.
    pub(crate) suite: CipherSuite,
}

impl Hellos {
    /// Parses both hellos. Neither end of the lab requests a second ClientHello.
    pub(crate) fn read(capture: &Capture) -> Option<Self> {
        let hello =
            |stream| messages(records(stream).find(|record| record[0] == HANDSHAKE)?).next();
        let (client, server) = (hello(&capture.sent)?, hello(&capture.received)?);
        Some(Self {
            client: client.to_vec(),
            identities: identities(client)?,
            server: server.to_vec(),
            suite: suite(server)?,
        })
    }
}

/// Returns the records of a stream, headers included.
pub(crate) fn records(mut stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (_, mut rest) = stream.split_at_checked(3)?;
        let len = vector::<2>(&mut rest)?.len();
        stream.split_off(..5 + len)
    })
}

/// Returns the protected records among them.
pub(crate) fn protected(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    records(stream).filter(|record| record[0] == APPLICATION_DATA)
}

/// Returns the handshake messages of a plain record.
fn messages(record: &[u8]) -> impl Iterator<Item = &[u8]> {
    whole_messages(record.get(5..).unwrap_or_default())
}

/// Returns the handshake messages of a stream of them, headers included.
pub(crate) fn whole_messages(mut stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (_, mut rest) = stream.split_at_checked(1)?;
        let len = vector::<3>(&mut rest)?.len();
        stream.split_off(..4 + len)
    })
}

/// Returns the identities of a ClientHello; none if it offers no PSK.
fn identities(hello: &[u8]) -> Option<Vec<Vec<u8>>> {
    // Header, version and random.
    let mut rest = hello.get(4 + 2 + 32..)?;
    vector::<1>(&mut rest)?; // legacy_session_id
    vector::<2>(&mut rest)?; // cipher_suites
    vector::<1>(&mut rest)?; // legacy_compression_methods
    let mut extensions = vector::<2>(&mut rest)?;
    let mut identities = Vec::new();
    while !extensions.is_empty() {
        let typ = u16::from_be_bytes(*extensions.split_off(..2)?.first_chunk()?);
        let mut body = vector::<2>(&mut extensions)?;
        if typ == PRE_SHARED_KEY {
            let mut list = vector::<2>(&mut body)?;
            while !list.is_empty() {
                identities.push(vector::<2>(&mut list)?.to_vec());
                list.split_off(..4)?; // obfuscated_ticket_age
            }
        }
    }
    Some(identities)
}

/// Returns the suite of a ServerHello.
fn suite(hello: &[u8]) -> Option<CipherSuite> {
    let mut rest = hello.get(4 + 2 + 32..)?;
    vector::<1>(&mut rest)?; // legacy_session_id_echo
    Some(CipherSuite(u16::from_be_bytes(*rest.first_chunk()?)))
}

/// Takes a vector with a length of `N` bytes.
pub(crate) fn vector<'a, const N: usize>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = input.split_off(..N)?.iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
    input.split_off(..len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adversary_skips_a_record_that_is_cut_off() {
        let stream = [22, 3, 3, 0, 2, 1, 2, 23, 3, 3, 0, 1, 9, 23, 3, 3, 0, 9];
        assert_eq!(records(&stream).count(), 2);
        assert_eq!(protected(&stream).collect::<Vec<_>>(), [[23, 3, 3, 0, 1, 9]]);
        assert!(Hellos::read(&Capture::default()).is_none());
        let sent = stream.to_vec();
        assert!(Hellos::read(&Capture { sent, ..Capture::default() }).is_none());
    }
}
