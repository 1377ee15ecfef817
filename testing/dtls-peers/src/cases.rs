//! What is tried with each peer.

use crate::peers::Peer;

/// A case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// A handshake with certificates, data both ways, both ends closed.
    Full,
    /// A server of theirs asks for a cookie.
    Cookie,
    /// A group that only a HelloRetryRequest brings about.
    Retry,
    Hybrid,
    /// Our client doesn't re-encrypt (docs/one-time-kem.md §6).
    FoSkip,
    /// Our client offers KEMs, and our server has a key of one next to that which signs (docs/kem-auth.md §3).
    Kems,
    SmallDatagrams,
    Lost {
        is_clients: bool,
        number: usize,
    },
    Resumption,
    EarlyData,
    KeyUpdates,
    ConnectionIds,
    /// Our client changes its address.
    Rebinding,
    /// A NAT changes the client's.
    NatRebinding,
    /// A NAT changes the client's, and the client its connection ID with it.
    Renaming,
    /// An old record from elsewhere moves no one.
    OldRecord,
    /// What our server sends to an address that wasn't proved.
    Budget,
}

/// The longest datagrams, where they are small.
pub const SMALL: usize = 400;

impl Case {
    /// Returns the cases of a peer in a role.
    pub fn of(peer: &Peer, is_server: bool) -> Vec<Self> {
        let lost = |is_clients| (1..=4).map(move |number| Self::Lost { is_clients, number });
        let all = [Self::Full, Self::Cookie, Self::Retry, Self::Hybrid, Self::FoSkip, Self::Kems]
            .into_iter()
            .chain([Self::SmallDatagrams])
            .chain(lost(true))
            .chain(lost(false))
            .chain([
                Self::Resumption,
                Self::EarlyData,
                Self::KeyUpdates,
                Self::ConnectionIds,
                Self::Rebinding,
                Self::NatRebinding,
                Self::Renaming,
                Self::OldRecord,
                Self::Budget,
            ]);
        all.filter(|case| case.is_for(peer, is_server)).collect()
    }

    fn is_for(self, peer: &Peer, is_server: bool) -> bool {
        match self {
            // A server of ours always asks.
            Self::Cookie => is_server && peer.has_cookies,
            Self::Hybrid => peer.hybrid,
            Self::FoSkip => is_server && peer.hybrid,
            // krabitls has one group.
            Self::Retry => peer.name != "krabitls",
            Self::Resumption => peer.resumes,
            Self::EarlyData => peer.has_early_data,
            Self::KeyUpdates => peer.updates_keys,
            Self::ConnectionIds => peer.has_connection_ids,
            Self::Rebinding => is_server && peer.follows,
            Self::NatRebinding | Self::OldRecord => {
                peer.has_connection_ids && (!is_server || peer.follows)
            }
            Self::Renaming => peer.renames && !is_server,
            Self::Budget => peer.has_connection_ids && !is_server,
            Self::Full | Self::Kems | Self::SmallDatagrams | Self::Lost { .. } => true,
        }
    }

    pub fn name(self) -> String {
        match self {
            Self::Full => "handshake, data, close".into(),
            Self::Cookie => "HelloRetryRequest with a cookie".into(),
            Self::Retry => "HelloRetryRequest for a group".into(),
            Self::Hybrid => "X25519MLKEM768".into(),
            Self::FoSkip => "X25519MLKEM768 without re-encryption".into(),
            Self::Kems => "KEMs on offer".into(),
            Self::SmallDatagrams => format!("datagrams of {SMALL} bytes"),
            Self::Lost { is_clients: true, number } => {
                format!("the client's datagram {number} lost")
            }
            Self::Lost { is_clients: false, number } => {
                format!("the server's datagram {number} lost")
            }
            Self::Resumption => "resumption".into(),
            Self::EarlyData => "0-RTT".into(),
            Self::KeyUpdates => "key updates by both".into(),
            Self::ConnectionIds => "connection IDs both ways".into(),
            Self::Rebinding => "a client that rebinds, to three addresses".into(),
            Self::NatRebinding => "a NAT that gives three other ports".into(),
            Self::Renaming => "other ports, under other connection IDs".into(),
            Self::OldRecord => "an old record from elsewhere".into(),
            Self::Budget => "three times what came from a new address".into(),
        }
    }
}
