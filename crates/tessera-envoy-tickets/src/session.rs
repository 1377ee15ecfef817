//! BoringSSL's `SSL_SESSION` in DER, as its TLS 1.3 server puts it into tickets (`ssl/ssl_asn1.cc`).

use der::asn1::{AnyRef, ContextSpecificRef, OctetStringRef};
use der::{
    Decode, Encode, EncodeValue, Reader, SliceReader, SliceWriter, Tag, TagMode, TagNumber, Tagged,
};
use tessera::crypto::Secret;
use tessera::wire::CipherSuite;
use zeroize::Zeroizing;

/// What such a session contains, without a client certificate and without early data.
#[derive(Debug)]
pub(crate) struct BoringSession {
    pub(crate) suite: CipherSuite,
    /// The resumption PSK (RFC 8446 §4.6.1).
    pub(crate) psk: Secret,
    /// When the ticket was issued, in seconds since the Unix epoch. The times below count from here.
    pub(crate) time: u64,
    /// How long the ticket lives, in seconds.
    pub(crate) timeout: u32,
    /// How long its chain of resumptions may continue without a full handshake, in seconds.
    pub(crate) auth_timeout: u32,
    /// `sid_ctx`: names the servers that resume it. At most 32 bytes.
    pub(crate) context: Vec<u8>,
    /// ticket_age_add.
    pub(crate) age_add: u32,
    /// The application protocol.
    pub(crate) protocol: Option<Vec<u8>>,
}

/// The version of the structure.
const STRUCTURE: u8 = 1;

const TLS_1_3: u16 = 0x0304;

/// Numbers of the optional fields.
mod field {
    pub(super) const TIME: u32 = 1;
    pub(super) const TIMEOUT: u32 = 2;
    pub(super) const CONTEXT: u32 = 4;
    pub(super) const GROUP: u32 = 18;
    pub(super) const AGE_ADD: u32 = 21;
    pub(super) const MAX_EARLY_DATA: u32 = 24;
    pub(super) const AUTH_TIMEOUT: u32 = 25;
    pub(super) const PROTOCOL: u32 = 26;
    pub(super) const RESUMABLE_ACROSS_NAMES: u32 = 31;
}

impl BoringSession {
    /// Decodes a session; `None` for anything else, and for one of another version of TLS, of a client, of QUIC, with a
    /// certificate or a failed verification of one, or with a field that no server of TLS 1.3 over TCP writes: it may
    /// restrict what the session is good for.
    pub(crate) fn decode(der: &[u8]) -> Option<Self> {
        let sequence = AnyRef::from_der(der).ok().filter(|any| any.tag() == Tag::Sequence)?;
        let mut fields = SliceReader::new(sequence.value()).ok()?;
        if u8::decode(&mut fields).ok()? != STRUCTURE || u16::decode(&mut fields).ok()? != TLS_1_3 {
            return None;
        }
        let suite = CipherSuite(u16::from_be_bytes(octets(&mut fields)?.try_into().ok()?));
        let _session_id = octets(&mut fields)?;
        let psk = octets(&mut fields).and_then(Secret::from_slice)?;
        let mut optional = OptionalFields::default();
        let mut last = 0;
        while !fields.is_finished() {
            let field = AnyRef::decode(&mut fields).ok()?;
            let Tag::ContextSpecific { constructed: true, number: TagNumber(number) } = field.tag()
            else {
                return None;
            };
            // Each at most once, in this order.
            if number <= last {
                return None;
            }
            last = number;
            optional.read(number, field.value())?;
        }
        let timeout = optional.timeout?;
        Some(Self {
            suite,
            psk,
            time: optional.time?,
            timeout,
            auth_timeout: optional.auth_timeout.unwrap_or(timeout),
            context: optional.context?,
            age_add: optional.age_add?,
            protocol: optional.protocol,
        })
    }

    /// Encodes the session, with room for a block of padding, so that encryption leaves no copy behind. `None` if a field
    /// is too long.
    pub(crate) fn encode(&self) -> Option<Zeroizing<Vec<u8>>> {
        let mut fields = Zeroizing::new(vec![0; self.room()]);
        let mut out = SliceWriter::new(&mut fields);
        self.encode_fields(&mut out).ok()?;
        let sequence = AnyRef::new(Tag::Sequence, out.finish().ok()?).ok()?;
        let len = usize::try_from(sequence.encoded_len().ok()?).ok()?;
        let mut der = Zeroizing::new(Vec::with_capacity(len + BLOCK));
        der.resize(len, 0);
        sequence.encode_to_slice(&mut der).ok()?;
        Some(der)
    }

    fn encode_fields(&self, out: &mut SliceWriter<'_>) -> der::Result<()> {
        out.encode(&STRUCTURE)?;
        out.encode(&TLS_1_3)?;
        out.encode(&OctetStringRef::new(&self.suite.0.to_be_bytes())?)?;
        // The session id, which a ticket lacks.
        out.encode(&OctetStringRef::new(&[])?)?;
        out.encode(&OctetStringRef::new(self.psk.expose())?)?;
        put(out, field::TIME, &self.time)?;
        put(out, field::TIMEOUT, &self.timeout)?;
        put(out, field::CONTEXT, &OctetStringRef::new(&self.context)?)?;
        put(out, field::AGE_ADD, &OctetStringRef::new(&self.age_add.to_be_bytes())?)?;
        if self.auth_timeout != self.timeout {
            put(out, field::AUTH_TIMEOUT, &self.auth_timeout)?;
        }
        if let Some(protocol) = &self.protocol {
            put(out, field::PROTOCOL, &OctetStringRef::new(protocol)?)?;
        }
        Ok(())
    }

    /// Returns an upper bound of the length of all fields.
    fn room(&self) -> usize {
        // All fields of fixed length, and the tags and lengths of the others: 124 bytes with the longest PSK.
        160 + self.context.len() + self.protocol.as_ref().map_or(0, Vec::len)
    }
}

/// The block of AES.
const BLOCK: usize = 16;

#[derive(Default)]
struct OptionalFields {
    time: Option<u64>,
    timeout: Option<u32>,
    context: Option<Vec<u8>>,
    age_add: Option<u32>,
    auth_timeout: Option<u32>,
    protocol: Option<Vec<u8>>,
}

impl OptionalFields {
    /// Reads a field; `None` for a malformed or an unknown one.
    fn read(&mut self, number: u32, value: &[u8]) -> Option<()> {
        match number {
            field::TIME => self.time = Some(u64::from_der(value).ok()?),
            field::TIMEOUT => self.timeout = Some(u32::from_der(value).ok()?),
            field::CONTEXT => self.context = Some(only_octets(value)?.to_vec()),
            field::AGE_ADD => {
                self.age_add = Some(u32::from_be_bytes(only_octets(value)?.try_into().ok()?));
            }
            field::AUTH_TIMEOUT => self.auth_timeout = Some(u32::from_der(value).ok()?),
            field::PROTOCOL => self.protocol = Some(only_octets(value)?.to_vec()),
            // The last exchange may be stronger than earlier ones of the chain.
            field::GROUP => drop(u16::from_der(value).ok()?),
            // Permissions that are not used here.
            field::MAX_EARLY_DATA => drop(u32::from_der(value).ok()?),
            field::RESUMABLE_ACROSS_NAMES => drop(bool::from_der(value).ok()?),
            _ => return None,
        }
        Some(())
    }
}

fn octets<'a>(fields: &mut SliceReader<'a>) -> Option<&'a [u8]> {
    let octets: &OctetStringRef = Decode::decode(fields).ok()?;
    Some(octets.as_bytes())
}

fn only_octets(value: &[u8]) -> Option<&[u8]> {
    let octets: &OctetStringRef = Decode::from_der(value).ok()?;
    Some(octets.as_bytes())
}

fn put<T: EncodeValue + Tagged>(
    out: &mut SliceWriter<'_>,
    number: u32,
    value: &T,
) -> der::Result<()> {
    let tag_number = TagNumber(number);
    out.encode(&ContextSpecificRef { tag_number, tag_mode: TagMode::Explicit, value })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::key::EnvoyKey;

    /// The contents of a ticket of Envoy 1.40, which OpenSSL got over X25519.
    fn of_envoy() -> Zeroizing<Vec<u8>> {
        let key = include_bytes!("../tests/vectors/key");
        let provider = tessera_aws_lc::provider();
        let key = EnvoyKey::new(&provider, key, Duration::MAX, Duration::MAX).unwrap();
        key.open(include_bytes!("../tests/vectors/ticket")).unwrap()
    }

    fn session() -> BoringSession {
        BoringSession::decode(&of_envoy()).unwrap()
    }

    /// Returns a session with another optional field, among those that Envoy writes.
    fn with_field(number: u32, value: &[u8]) -> Vec<u8> {
        let der = of_envoy();
        let mut elements = elements(&der);
        let tag = Tag::ContextSpecific { constructed: true, number: TagNumber(number) };
        let is_before = |any: &AnyRef<'_>| match any.tag() {
            Tag::ContextSpecific { number: TagNumber(other), .. } => other < number,
            _ => true,
        };
        let at = elements.iter().position(|any| !is_before(any)).unwrap_or(elements.len());
        elements.insert(at, AnyRef::new(tag, value).unwrap());
        of(&elements)
    }

    fn elements(der: &[u8]) -> Vec<AnyRef<'_>> {
        let mut fields = SliceReader::new(AnyRef::from_der(der).unwrap().value()).unwrap();
        let next = || (!fields.is_finished()).then(|| AnyRef::decode(&mut fields).unwrap());
        std::iter::from_fn(next).collect()
    }

    fn of(elements: &[AnyRef<'_>]) -> Vec<u8> {
        let mut fields = vec![0; 1000];
        let mut out = SliceWriter::new(&mut fields);
        elements.iter().for_each(|any| out.encode(any).unwrap());
        let sequence = AnyRef::new(Tag::Sequence, out.finish().unwrap()).unwrap();
        let mut der = vec![0; 1010];
        sequence.encode_to_slice(&mut der).unwrap().to_vec()
    }

    #[test]
    fn all_fields_of_a_session_of_envoy_are_read() {
        let session = session();
        assert_eq!(session.suite, CipherSuite::TLS_AES_256_GCM_SHA384);
        // As OpenSSL printed it.
        let psk = "16ee48bd92cd0867b01493ff485de0539eab0a4ae5499c8b363b1509238ea3c3\
                   de17f97da544b9f0f038e1ad79341e0f";
        let hex: String = session.psk.expose().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, psk);
        assert_eq!(session.time, 0x6b07_fa48);
        assert_eq!((session.timeout, session.auth_timeout), (172_800, 604_800));
        assert_eq!(session.context[..3], [0x0f, 0x70, 0xc6]);
        assert_eq!(session.age_add, 0xde79_52b7);
        assert_eq!(session.protocol.as_deref(), Some(&b"http/1.1"[..]));
    }

    #[test]
    fn a_session_is_encoded_as_envoy_encodes_it() {
        // All but the group: `[18] INTEGER 0x1d`.
        let of_envoy = of_envoy();
        let at = of_envoy.windows(5).position(|part| part == [0xb2, 3, 2, 1, 0x1d]).unwrap();
        let expected = [&of_envoy[3..at], &of_envoy[at + 5..]].concat();
        let encoded = session().encode().unwrap();
        assert_eq!(encoded[..3], [0x30, 0x81, u8::try_from(expected.len()).unwrap()]);
        assert_eq!(encoded[3..], expected);
        assert!(encoded.capacity() >= encoded.len() + BLOCK, "padding moves it");
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for (timeout, auth_timeout, protocol) in
            [(0, 0, None), (7, 7, Some(vec![])), (u32::MAX, 1, Some(vec![7; 255]))]
        {
            let context = vec![9; 32];
            let before = BoringSession { timeout, auth_timeout, protocol, context, ..session() };
            let after = BoringSession::decode(&before.encode().unwrap()).unwrap();
            assert_eq!((after.timeout, after.auth_timeout), (timeout, auth_timeout));
            assert_eq!((after.protocol, after.context), (before.protocol, before.context));
            assert_eq!((after.suite, after.time), (before.suite, before.time));
            assert_eq!((after.age_add, after.psk), (before.age_add, before.psk));
        }
    }

    #[test]
    fn a_session_that_is_cut_off_or_followed_by_something_is_none() {
        let der = of_envoy();
        for len in 0..der.len() {
            assert!(BoringSession::decode(&der[..len]).is_none(), "{len} bytes");
        }
        assert!(BoringSession::decode(&[&der[..], &[0]].concat()).is_none());
    }

    #[test]
    fn a_session_without_one_of_the_needed_fields_is_none() {
        let der = of_envoy();
        let elements = elements(&der);
        let decoded: Vec<_> = (0..elements.len())
            .map(|missing| {
                let mut fewer = elements.clone();
                fewer.remove(missing);
                BoringSession::decode(&of(&fewer)).is_some()
            })
            .collect();
        // Group, auth_timeout and protocol are optional.
        let needed = decoded.iter().filter(|is_some| !**is_some).count();
        assert_eq!((needed, decoded.len()), (9, 12), "{decoded:?}");
    }

    #[test]
    fn a_session_of_another_version_or_of_a_client_is_none() {
        let change = |at: usize, from: u8, to: u8| {
            let mut der = of_envoy().to_vec();
            assert_eq!(std::mem::replace(&mut der[at], to), from);
            BoringSession::decode(&der).is_some()
        };
        assert!(change(5, 1, 1));
        assert!(!change(5, 1, 2), "version of the structure");
        assert!(!change(9, 4, 3), "TLS 1.2");
        assert!(BoringSession::decode(&with_field(22, &[1, 1, 0])).is_none(), "isServer FALSE");
    }

    #[test]
    fn a_field_that_could_restrict_the_session_is_none() {
        for (number, what) in [
            (3, "peer"),
            (5, "verifyResult"),
            (8, "pskIdentity"),
            (9, "ticketLifetimeHint"),
            (13, "peerSHA256"),
            (19, "certChain"),
            (23, "peerSignatureAlgorithm"),
            (27, "isQuic"),
            (28, "quicEarlyDataHash"),
            (32, "peerCertType"),
            (33, "peerRawPublicKey"),
            (99, "of a later version"),
        ] {
            for value in [&[2, 1, 1][..], &[1, 1, 0xff], &[4, 2, 7, 7], &[0x30, 0]] {
                assert!(BoringSession::decode(&with_field(number, value)).is_none(), "{what}");
            }
        }
        for (number, value) in [(24, &[2, 1, 1][..]), (31, &[1, 1, 0xff])] {
            assert!(BoringSession::decode(&with_field(number, value)).is_some(), "{number}");
            assert!(BoringSession::decode(&with_field(number, &[4, 0])).is_none(), "{number}");
        }
    }

    #[test]
    fn a_field_that_comes_twice_or_too_early_is_none() {
        let der = of_envoy();
        let mut elements = elements(&der);
        assert!(BoringSession::decode(&of(&elements)).is_some());
        for at in 5..elements.len() - 1 {
            let mut exchanged = elements.clone();
            exchanged.swap(at, at + 1);
            assert!(BoringSession::decode(&of(&exchanged)).is_none(), "{at}");
        }
        elements.push(elements[elements.len() - 1]);
        assert!(BoringSession::decode(&of(&elements)).is_none());
    }
}
