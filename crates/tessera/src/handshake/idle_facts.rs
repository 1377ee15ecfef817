//! The facts of an idle connection, without room for those that most don't have.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::facts::{CertificateTransfer, EarlyDataStatus, Facts};
use crate::auth::PeerIdentity;
use crate::resume::{Ancestry, Continuation, FlightHandle, PskKind, SettledFlights};
use crate::wire::{CipherSuite, NamedGroup, OpaqueExtension, SignatureScheme};

/// The facts of a connection.
pub(super) struct IdleFacts {
    pub(super) suite: Option<CipherSuite>,
    pub(super) group: Option<NamedGroup>,
    pub(super) psk: Option<PskKind>,
    pub(super) continuation: Option<Continuation>,
    pub(super) protocol: Option<Vec<u8>>,
    pub(super) server_name: Option<String>,
    pub(super) peer: Option<PeerIdentity>,
    pub(super) authenticated_at: Option<u64>,
    pub(super) signature_scheme: Option<SignatureScheme>,
    pub(super) own_certificate: Option<CertificateTransfer>,
    pub(super) peer_certificate: Option<CertificateTransfer>,
    pub(super) hello_retry: bool,
    pub(super) ancestry: Option<Ancestry>,
    pub(super) early_data: EarlyDataStatus,
    pub(super) handshake_complete: bool,
    pub(super) rare: Option<Box<RareFacts>>,
}

/// Those that most connections don't have.
#[derive(Default, PartialEq, Eq)]
pub(super) struct RareFacts {
    pub(super) external_psk: Option<Vec<u8>>,
    pub(super) one_time_key: Option<NamedGroup>,
    pub(super) early_data_key_lost: bool,
    pub(super) early_data_written: usize,
    pub(super) early_records_taken: Option<u32>,
    pub(super) flight: Option<FlightHandle>,
    pub(super) receipts: SettledFlights,
    pub(super) peer_extensions: Vec<OpaqueExtension>,
}

impl From<Facts> for IdleFacts {
    fn from(facts: Facts) -> Self {
        let Facts {
            suite,
            group,
            psk,
            external_psk,
            one_time_key,
            continuation,
            protocol,
            server_name,
            peer,
            authenticated_at,
            // Only a complete handshake is idle.
            server_is_implicit: _,
            signature_scheme,
            own_certificate,
            peer_certificate,
            hello_retry,
            ancestry,
            early_data,
            early_data_key_lost,
            early_data_written,
            early_records_taken,
            flight,
            receipts,
            peer_extensions,
            handshake_complete,
        } = facts;
        let rare = RareFacts {
            external_psk,
            one_time_key,
            early_data_key_lost,
            early_data_written,
            early_records_taken,
            flight,
            receipts,
            peer_extensions,
        };
        Self {
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
            handshake_complete,
            rare: (rare != RareFacts::default()).then(|| Box::new(rare)),
        }
    }
}

impl From<IdleFacts> for Facts {
    fn from(facts: IdleFacts) -> Self {
        let RareFacts {
            external_psk,
            one_time_key,
            early_data_key_lost,
            early_data_written,
            early_records_taken,
            flight,
            receipts,
            peer_extensions,
        } = facts.rare.map_or_else(RareFacts::default, |rare| *rare);
        Self {
            suite: facts.suite,
            group: facts.group,
            psk: facts.psk,
            external_psk,
            one_time_key,
            continuation: facts.continuation,
            protocol: facts.protocol,
            server_name: facts.server_name,
            peer: facts.peer,
            authenticated_at: facts.authenticated_at,
            server_is_implicit: false,
            signature_scheme: facts.signature_scheme,
            own_certificate: facts.own_certificate,
            peer_certificate: facts.peer_certificate,
            hello_retry: facts.hello_retry,
            ancestry: facts.ancestry,
            early_data: facts.early_data,
            early_data_key_lost,
            early_data_written,
            early_records_taken,
            flight,
            receipts,
            peer_extensions,
            handshake_complete: facts.handshake_complete,
        }
    }
}
