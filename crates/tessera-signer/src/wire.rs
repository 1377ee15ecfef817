//! The messages of the protocol.

use std::fmt;

use tessera::wire::SignatureScheme;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    Sign {
        id: u64,
        scheme: SignatureScheme,
        /// The key's name.
        name: Vec<u8>,
        message: Vec<u8>,
    },
    Ping {
        id: u64,
    },
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Signed { id: u64, signature: Vec<u8> },
    Pong { id: u64 },
    Refused { id: u64, refusal: Refusal },
}

/// Why a signer refuses a request. Its number on the wire is in brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The signer has no key of this name (1).
    UnknownKey,
    /// No name of the client's certificate is allowed for this key (2).
    NotAllowed,
    /// The key doesn't sign with this scheme (3).
    Scheme,
    /// The message is not the content of a server's CertificateVerify (4).
    Content,
    /// The client exceeds its rate (5).
    Rate,
    /// Too many signatures are in progress (6).
    Busy,
    /// The key could not sign (7).
    Failed,
}

/// The bytes are not of this protocol. Nothing after them can be read, so the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

const SIGN: u8 = 1;
const PING: u8 = 2;
const SIGNED: u8 = 1;
const PONG: u8 = 2;
const REFUSED: u8 = 3;

/// Kind, id.
const HEAD_LEN: usize = 1 + 8;
/// Scheme, the lengths of name and message.
#[cfg(any(feature = "server", test))]
const SIGN_LEN: usize = HEAD_LEN + 2 + 1 + 2;

/// The longest message. What a CertificateVerify signs has 146 bytes at most; up to this, others get an answer that names why.
const MAX_MESSAGE: usize = 4096;
/// The longest name of a key.
pub(crate) const MAX_NAME: usize = u8::MAX as usize;
/// The longest signature: ML-DSA-87 has 4,627 bytes.
const MAX_SIGNATURE: usize = 8192;

impl Refusal {
    /// All refusals, by their number on the wire from 1.
    pub(crate) const ALL: [Self; 7] = [
        Self::UnknownKey,
        Self::NotAllowed,
        Self::Scheme,
        Self::Content,
        Self::Rate,
        Self::Busy,
        Self::Failed,
    ];

    #[cfg(any(feature = "server", test))]
    fn number(self) -> u8 {
        let at = Self::ALL.iter().position(|it| *it == self).unwrap_or_default();
        at as u8 + 1
    }

    fn of(number: u8) -> Result<Self, Malformed> {
        let at = usize::from(number).checked_sub(1).ok_or(Malformed)?;
        Self::ALL.get(at).copied().ok_or(Malformed)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownKey => "it has no key of this name",
            Self::NotAllowed => "no name of the client's certificate is allowed for this key",
            Self::Scheme => "the key doesn't sign with this scheme",
            Self::Content => "the message is not the content of a server's CertificateVerify",
            Self::Rate => "the client exceeds its rate for this key",
            Self::Busy => "too many signatures are in progress",
            Self::Failed => "the key could not sign",
        })
    }
}

#[cfg(feature = "server")]
impl Refusal {
    /// Returns the value of its label in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UnknownKey => "unknown-key",
            Self::NotAllowed => "not-allowed",
            Self::Scheme => "scheme",
            Self::Content => "content",
            Self::Rate => "rate",
            Self::Busy => "busy",
            Self::Failed => "failed",
        }
    }
}

impl Request {
    #[cfg(any(feature = "server", test))]
    pub(crate) const MAX_LEN: usize = SIGN_LEN + MAX_NAME + MAX_MESSAGE;

    pub(crate) fn id(&self) -> u64 {
        match self {
            Self::Sign { id, .. } | Self::Ping { id } => *id,
        }
    }

    /// Whether it fits into a frame.
    pub(crate) fn is_sendable(&self) -> bool {
        match self {
            Self::Sign { name, message, .. } => {
                name.len() <= MAX_NAME && message.len() <= MAX_MESSAGE
            }
            Self::Ping { .. } => true,
        }
    }

    /// Appends the encoded request, which must be [sendable](Self::is_sendable).
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Sign { id, scheme, name, message } => {
                to.push(SIGN);
                to.extend_from_slice(&id.to_be_bytes());
                to.extend_from_slice(&scheme.0.to_be_bytes());
                to.push(name.len() as u8);
                to.extend_from_slice(&(message.len() as u16).to_be_bytes());
                to.extend_from_slice(name);
                to.extend_from_slice(message);
            }
            Self::Ping { id } => {
                to.push(PING);
                to.extend_from_slice(&id.to_be_bytes());
            }
        }
    }

    /// Reads a request and advances `bytes`; `None` while it is incomplete.
    #[cfg(any(feature = "server", test))]
    pub(crate) fn read(bytes: &mut &[u8]) -> Result<Option<Self>, Malformed> {
        let mut rest = *bytes;
        let request = match kind(&mut rest) {
            None => None,
            Some(SIGN) => read_sign(&mut rest)?,
            Some(PING) => number(&mut rest).map(|id| Self::Ping { id }),
            Some(_) => return Err(Malformed),
        };
        if request.is_some() {
            *bytes = rest;
        }
        Ok(request)
    }
}

#[cfg(any(feature = "server", test))]
fn read_sign(bytes: &mut &[u8]) -> Result<Option<Request>, Malformed> {
    let Some(id) = number(bytes) else { return Ok(None) };
    let Some(scheme) = short(bytes) else { return Ok(None) };
    let Some([name]) = array(bytes) else { return Ok(None) };
    let Some(message) = short(bytes) else { return Ok(None) };
    // Before waiting for them.
    if usize::from(message) > MAX_MESSAGE {
        return Err(Malformed);
    }
    let Some(name) = take(bytes, name.into()) else { return Ok(None) };
    let Some(message) = take(bytes, message.into()) else { return Ok(None) };
    Ok(Some(Request::Sign { id, scheme: SignatureScheme(scheme), name, message }))
}

impl Answer {
    pub(crate) const MAX_LEN: usize = HEAD_LEN + 2 + MAX_SIGNATURE;

    pub(crate) fn id(&self) -> u64 {
        match self {
            Self::Signed { id, .. } | Self::Pong { id } | Self::Refused { id, .. } => *id,
        }
    }

    /// Appends the encoded answer.
    #[cfg(any(feature = "server", test))]
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let (kind, id) = match self {
            Self::Signed { id, .. } => (SIGNED, id),
            Self::Pong { id } => (PONG, id),
            Self::Refused { id, .. } => (REFUSED, id),
        };
        to.push(kind);
        to.extend_from_slice(&id.to_be_bytes());
        match self {
            Self::Signed { signature, .. } => {
                to.extend_from_slice(&(signature.len() as u16).to_be_bytes());
                to.extend_from_slice(signature);
            }
            Self::Pong { .. } => {}
            Self::Refused { refusal, .. } => to.push(refusal.number()),
        }
    }

    /// Reads an answer and advances `bytes`; `None` while it is incomplete.
    pub(crate) fn read(bytes: &mut &[u8]) -> Result<Option<Self>, Malformed> {
        let mut rest = *bytes;
        let answer = match kind(&mut rest) {
            None => None,
            Some(SIGNED) => read_signed(&mut rest)?,
            Some(PONG) => number(&mut rest).map(|id| Self::Pong { id }),
            Some(REFUSED) => match (number(&mut rest), array(&mut rest)) {
                (Some(id), Some([reason])) => {
                    Some(Self::Refused { id, refusal: Refusal::of(reason)? })
                }
                _ => None,
            },
            Some(_) => return Err(Malformed),
        };
        if answer.is_some() {
            *bytes = rest;
        }
        Ok(answer)
    }
}

fn read_signed(bytes: &mut &[u8]) -> Result<Option<Answer>, Malformed> {
    let (Some(id), Some(len)) = (number(bytes), short(bytes)) else { return Ok(None) };
    if usize::from(len) > MAX_SIGNATURE {
        return Err(Malformed);
    }
    Ok(take(bytes, len.into()).map(|signature| Answer::Signed { id, signature }))
}

fn kind(bytes: &mut &[u8]) -> Option<u8> {
    array(bytes).map(|[kind]| kind)
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    array(bytes).map(u64::from_be_bytes)
}

fn short(bytes: &mut &[u8]) -> Option<u16> {
    array(bytes).map(u16::from_be_bytes)
}

fn array<const LEN: usize>(bytes: &mut &[u8]) -> Option<[u8; LEN]> {
    let (array, rest) = bytes.split_first_chunk::<LEN>()?;
    *bytes = rest;
    Some(*array)
}

fn take(bytes: &mut &[u8], len: usize) -> Option<Vec<u8>> {
    let (taken, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(taken.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Vec<Request> {
        let sign = |name: &[u8], message: Vec<u8>| Request::Sign {
            id: 7,
            scheme: SignatureScheme::ED25519,
            name: name.to_vec(),
            message,
        };
        vec![
            sign(b"www", vec![3; 130]),
            sign(b"", Vec::new()),
            sign(&[4; MAX_NAME], vec![5; MAX_MESSAGE]),
            Request::Ping { id: u64::MAX },
        ]
    }

    fn answers() -> Vec<Answer> {
        let refused = Refusal::ALL.map(|refusal| Answer::Refused { id: 9, refusal });
        let signed = [0, 64, MAX_SIGNATURE]
            .map(|len| Answer::Signed { id: 1 << 40, signature: vec![6; len] });
        [&refused[..], &signed, &[Answer::Pong { id: 0 }]].concat()
    }

    #[test]
    fn requests_and_answers_are_read_as_written_and_not_before_they_are_whole() {
        for request in requests() {
            assert!(request.is_sendable());
            let mut bytes = Vec::new();
            request.write(&mut bytes);
            assert!(bytes.len() <= Request::MAX_LEN);
            assert!((0..bytes.len()).all(|len| Request::read(&mut &bytes[..len]) == Ok(None)));
            bytes.push(8);
            let mut left = &bytes[..];
            assert_eq!(Request::read(&mut left), Ok(Some(request)));
            assert_eq!(left, [8]);
        }
        for answer in answers() {
            let mut bytes = Vec::new();
            answer.write(&mut bytes);
            assert!(bytes.len() <= Answer::MAX_LEN);
            assert!((0..bytes.len()).all(|len| Answer::read(&mut &bytes[..len]) == Ok(None)));
            bytes.push(8);
            let mut left = &bytes[..];
            assert_eq!(Answer::read(&mut left), Ok(Some(answer)));
            assert_eq!(left, [8]);
        }
    }

    #[test]
    fn the_bytes_of_a_request_stay_as_they_are() {
        let mut bytes = Vec::new();
        let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
        let (name, message) = (b"www".to_vec(), b"hi".to_vec());
        Request::Sign { id: 1, scheme, name, message }.write(&mut bytes);
        assert_eq!(bytes, b"\x01\0\0\0\0\0\0\0\x01\x04\x03\x03\0\x02wwwhi");
    }

    #[test]
    fn what_is_too_long_or_unknown_is_malformed_before_it_has_arrived() {
        let long = (MAX_MESSAGE as u16 + 1).to_be_bytes();
        let sign = [&[SIGN, 0, 0, 0, 0, 0, 0, 0, 1, 8, 7, 3][..], &long].concat();
        assert_eq!(Request::read(&mut &sign[..]), Err(Malformed));
        assert_eq!(Request::read(&mut &b"\x03"[..]), Err(Malformed));
        assert_eq!(Request::read(&mut &b"\x00"[..]), Err(Malformed));
        let long = (MAX_SIGNATURE as u16 + 1).to_be_bytes();
        let signed = [&[SIGNED, 0, 0, 0, 0, 0, 0, 0, 1][..], &long].concat();
        assert_eq!(Answer::read(&mut &signed[..]), Err(Malformed));
        for reason in [0, Refusal::ALL.len() as u8 + 1] {
            let refused = [REFUSED, 0, 0, 0, 0, 0, 0, 0, 1, reason];
            assert_eq!(Answer::read(&mut &refused[..]), Err(Malformed));
        }
        assert_eq!(Answer::read(&mut &b"\x04"[..]), Err(Malformed));
    }

    #[test]
    fn a_name_or_a_message_that_fits_no_frame_is_not_sent() {
        let sign = |name, message| Request::Sign {
            id: 0,
            scheme: SignatureScheme::ED25519,
            name: vec![1; name],
            message: vec![2; message],
        };
        assert!(!sign(MAX_NAME + 1, 0).is_sendable());
        assert!(!sign(0, MAX_MESSAGE + 1).is_sendable());
    }
}
