//! What a server that moves to another process keeps of its handshake, as bytes.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::facts::{CertificateTransfer, EarlyDataStatus};
use super::idle::IdleCore;
use super::idle_facts::{IdleFacts, RareFacts};
use crate::auth::PeerIdentity;
use crate::crypto::Provider;
use crate::resume::{Ancestry, Continuation, PskKind, SettledFlights, Verdict, tlv};
use crate::schedule::{DATAGRAM, IdleSecrets, KeyDerivation};
use crate::wire::{
    CertificateCompressionAlgorithm, CipherSuite, ExtensionType, FlightHandle, NamedGroup,
    OpaqueExtension, Reader, SignatureScheme, Writer,
};

impl IdleCore {
    /// Appends all but the secrets. What certificate codecs still wait for is lost: they learn less.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let Self {
            facts,
            suite,
            secrets: _,
            codecs: _,
            stack_depth: _,
            post_handshake_in_a_row,
            update_requested,
        } = self;
        out.u16(suite.id.0);
        out.u8(*post_handshake_in_a_row);
        out.u8(u8::from(*update_requested));
        out.vec24(|out| facts.write(out));
    }

    /// Appends the secrets; there must be room.
    pub(crate) fn write_secrets(&self, out: &mut Vec<u8>) {
        let kdf = KeyDerivation { hash: self.suite.hash, profile: &DATAGRAM };
        self.secrets.write(kdf, out);
    }
}

/// A server's part, before its secrets are read.
pub(crate) struct CoreWithoutSecrets {
    pub(crate) suite: &'static crate::crypto::Suite,
    facts: IdleFacts,
    post_handshake_in_a_row: u8,
    update_requested: bool,
}

impl CoreWithoutSecrets {
    /// Reads what [`IdleCore::write`] wrote; `None` too for a suite that the provider lacks.
    pub(crate) fn read(reader: &mut Reader<'_>, provider: &Provider) -> Option<Self> {
        Some(Self {
            suite: provider.suite(CipherSuite(reader.u16().ok()?))?,
            post_handshake_in_a_row: reader.u8().ok()?,
            update_requested: reader.u8().ok()? != 0,
            facts: IdleFacts::read(reader.vec24().ok()?)?,
        })
    }

    /// Reads the secrets.
    pub(crate) fn with_secrets(
        self,
        reader: &mut Reader<'_>,
        provider: &Provider,
    ) -> Option<IdleCore> {
        let Self { suite, facts, post_handshake_in_a_row, update_requested } = self;
        let kdf = KeyDerivation { hash: suite.hash, profile: &DATAGRAM };
        Some(IdleCore {
            facts,
            suite,
            secrets: IdleSecrets::read(kdf, reader)?,
            codecs: None,
            stack_depth: provider.stack_depth,
            post_handshake_in_a_row,
            update_requested,
        })
    }
}

mod tag {
    pub(super) const SUITE: u8 = 1;
    pub(super) const GROUP: u8 = 2;
    pub(super) const PSK: u8 = 3;
    pub(super) const CONTINUATION: u8 = 4;
    pub(super) const PROTOCOL: u8 = 5;
    pub(super) const SERVER_NAME: u8 = 6;
    pub(super) const PEER: u8 = 7;
    pub(super) const PEER_EXPIRES_AT: u8 = 8;
    pub(super) const AUTHENTICATED_AT: u8 = 9;
    pub(super) const SIGNATURE_SCHEME: u8 = 10;
    pub(super) const OWN_CERTIFICATE: u8 = 11;
    pub(super) const PEER_CERTIFICATE: u8 = 12;
    pub(super) const HELLO_RETRY: u8 = 13;
    pub(super) const ANCESTRY: u8 = 14;
    pub(super) const EARLY_DATA: u8 = 15;
    pub(super) const EXTERNAL_PSK: u8 = 16;
    pub(super) const ONE_TIME_KEY: u8 = 17;
    pub(super) const EARLY_DATA_KEY_LOST: u8 = 18;
    pub(super) const FLIGHT: u8 = 19;
    pub(super) const PEER_EXTENSIONS: u8 = 20;
}

const PSK_KINDS: [PskKind; 5] = [
    PskKind::Resumption,
    PskKind::External,
    PskKind::Imported,
    PskKind::ForwardSecret,
    PskKind::KnownKey,
];
const CONTINUATIONS: [Continuation; 2] = [Continuation::PskDheKe, Continuation::PskKe];
const ANCESTRIES: [Ancestry; 3] = [Ancestry::PskOnly, Ancestry::Classical, Ancestry::PostQuantum];
const EARLY_DATA: [EarlyDataStatus; 6] = [
    EarlyDataStatus::NotOffered,
    EarlyDataStatus::Offered,
    EarlyDataStatus::Accepted,
    EarlyDataStatus::Rejected(Verdict::Burned),
    EarlyDataStatus::Rejected(Verdict::Used),
    EarlyDataStatus::Rejected(Verdict::Unknown),
];

impl IdleFacts {
    /// Appends a server's facts; why a certificate wasn't cached is left out.
    fn write(&self, out: &mut Vec<u8>) {
        let Self {
            suite,
            group,
            psk,
            continuation,
            protocol,
            server_name,
            peer,
            authenticated_at,
            signature_scheme,
            own_certificate,
            peer_certificate,
            hello_retry,
            ancestry,
            early_data,
            // Always.
            handshake_complete: _,
            rare,
        } = self;
        put_u16(out, tag::SUITE, suite.map(|it| it.0));
        put_u16(out, tag::GROUP, group.map(|it| it.0));
        put_name(out, tag::PSK, psk.as_ref(), &PSK_KINDS);
        put_name(out, tag::CONTINUATION, continuation.as_ref(), &CONTINUATIONS);
        put_bytes(out, tag::PROTOCOL, protocol.as_deref());
        put_bytes(out, tag::SERVER_NAME, server_name.as_deref().map(str::as_bytes));
        put_bytes(out, tag::PEER, peer.as_ref().map(|it| &it.blob[..]));
        let expires_at = peer.as_ref().and_then(|it| it.expires_at).map(u64::to_be_bytes);
        put_bytes(out, tag::PEER_EXPIRES_AT, expires_at.as_ref().map(|it| &it[..]));
        let authenticated_at = authenticated_at.map(u64::to_be_bytes);
        put_bytes(out, tag::AUTHENTICATED_AT, authenticated_at.as_ref().map(|it| &it[..]));
        put_u16(out, tag::SIGNATURE_SCHEME, signature_scheme.map(|it| it.0));
        for (tag, transfer) in
            [(tag::OWN_CERTIFICATE, own_certificate), (tag::PEER_CERTIFICATE, peer_certificate)]
        {
            if let Some(CertificateTransfer { encoded_with, len, missed: _ }) = transfer {
                tlv::put_with(out, tag, |out| {
                    out.u32(*len);
                    if let Some(algorithm) = encoded_with {
                        out.u16(algorithm.0);
                    }
                });
            }
        }
        put_bytes(out, tag::HELLO_RETRY, hello_retry.then_some(&[][..]));
        put_name(out, tag::ANCESTRY, ancestry.as_ref(), &ANCESTRIES);
        put_name(out, tag::EARLY_DATA, Some(early_data), &EARLY_DATA);
        let Some(rare) = rare else { return };
        let RareFacts {
            external_psk,
            one_time_key,
            early_data_key_lost,
            // A client's.
            early_data_written: _,
            early_records_taken: _,
            flight,
            receipts: _,
            peer_extensions,
        } = &**rare;
        put_bytes(out, tag::EXTERNAL_PSK, external_psk.as_deref());
        put_u16(out, tag::ONE_TIME_KEY, one_time_key.map(|it| it.0));
        put_bytes(out, tag::EARLY_DATA_KEY_LOST, early_data_key_lost.then_some(&[][..]));
        put_bytes(out, tag::FLIGHT, flight.as_ref().map(|it| &it.0[..]));
        if !peer_extensions.is_empty() {
            tlv::put_with(out, tag::PEER_EXTENSIONS, |out| {
                for extension in peer_extensions {
                    out.u16(extension.typ.0);
                    out.vec16(|out| out.bytes(&extension.contents));
                }
            });
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut facts = Self {
            suite: None,
            group: None,
            psk: None,
            continuation: None,
            protocol: None,
            server_name: None,
            peer: None,
            authenticated_at: None,
            signature_scheme: None,
            own_certificate: None,
            peer_certificate: None,
            hello_retry: false,
            ancestry: None,
            early_data: EarlyDataStatus::NotOffered,
            handshake_complete: true,
            rare: None,
        };
        let mut rare = RareFacts { receipts: SettledFlights::default(), ..RareFacts::default() };
        let u16_of = |value: &[u8]| tlv::array(value).map(u16::from_be_bytes);
        let u64_of = |value: &[u8]| tlv::array(value).map(u64::from_be_bytes);
        tlv::read(bytes, |tag, value| {
            match tag {
                tag::SUITE => facts.suite = Some(CipherSuite(u16_of(value)?)),
                tag::GROUP => facts.group = Some(NamedGroup(u16_of(value)?)),
                tag::PSK => facts.psk = Some(name_of(value, &PSK_KINDS)?),
                tag::CONTINUATION => facts.continuation = Some(name_of(value, &CONTINUATIONS)?),
                tag::PROTOCOL => facts.protocol = Some(value.to_vec()),
                tag::SERVER_NAME => {
                    facts.server_name = Some(String::from(core::str::from_utf8(value).ok()?));
                }
                tag::PEER => {
                    facts.peer = Some(PeerIdentity { blob: value.to_vec(), expires_at: None });
                }
                tag::PEER_EXPIRES_AT => facts.peer.as_mut()?.expires_at = Some(u64_of(value)?),
                tag::AUTHENTICATED_AT => facts.authenticated_at = Some(u64_of(value)?),
                tag::SIGNATURE_SCHEME => {
                    facts.signature_scheme = Some(SignatureScheme(u16_of(value)?));
                }
                tag::OWN_CERTIFICATE => facts.own_certificate = Some(transfer(value)?),
                tag::PEER_CERTIFICATE => facts.peer_certificate = Some(transfer(value)?),
                tag::HELLO_RETRY => facts.hello_retry = true,
                tag::ANCESTRY => facts.ancestry = Some(name_of(value, &ANCESTRIES)?),
                tag::EARLY_DATA => facts.early_data = name_of(value, &EARLY_DATA)?,
                tag::EXTERNAL_PSK => rare.external_psk = Some(value.to_vec()),
                tag::ONE_TIME_KEY => rare.one_time_key = Some(NamedGroup(u16_of(value)?)),
                tag::EARLY_DATA_KEY_LOST => rare.early_data_key_lost = true,
                tag::FLIGHT => rare.flight = Some(FlightHandle(tlv::array(value)?)),
                tag::PEER_EXTENSIONS => rare.peer_extensions = extensions(value)?,
                _ => return None,
            }
            Some(())
        })?;
        facts.rare = (rare != RareFacts::default()).then(|| Box::new(rare));
        Some(facts)
    }
}

fn put_bytes(out: &mut Vec<u8>, tag: u8, value: Option<&[u8]>) {
    if let Some(value) = value {
        tlv::put(out, tag, value);
    }
}

fn put_u16(out: &mut Vec<u8>, tag: u8, value: Option<u16>) {
    put_bytes(out, tag, value.map(u16::to_be_bytes).as_ref().map(|it| &it[..]));
}

/// Appends the place of a value in the list of all.
fn put_name<T: PartialEq>(out: &mut Vec<u8>, tag: u8, value: Option<&T>, all: &[T]) {
    let place = value.and_then(|value| all.iter().position(|it| it == value));
    put_bytes(out, tag, place.map(|place| [place as u8]).as_ref().map(|it| &it[..]));
}

fn name_of<T: Copy>(value: &[u8], all: &[T]) -> Option<T> {
    let [place] = tlv::array(value)?;
    all.get(usize::from(place)).copied()
}

fn transfer(value: &[u8]) -> Option<CertificateTransfer> {
    let mut reader = Reader::new(value);
    let len = reader.u32().ok()?;
    let algorithm = match reader.is_empty() {
        true => None,
        false => Some(CertificateCompressionAlgorithm(reader.u16().ok()?)),
    };
    reader.finish().ok()?;
    Some(CertificateTransfer { encoded_with: algorithm, len, missed: None })
}

fn extensions(value: &[u8]) -> Option<Vec<OpaqueExtension>> {
    let mut reader = Reader::new(value);
    let mut extensions = Vec::new();
    while !reader.is_empty() {
        let typ = ExtensionType(reader.u16().ok()?);
        extensions.push(OpaqueExtension { typ, contents: reader.vec16().ok()?.to_vec() });
    }
    Some(extensions)
}
