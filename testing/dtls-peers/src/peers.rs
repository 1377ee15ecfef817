//! The peers, and what each can do.

/// A peer.
pub struct Peer {
    /// What the command line calls it.
    pub name: &'static str,
    pub has_server: bool,
    /// Its server can ask for a cookie.
    pub has_cookies: bool,
    /// Its client has a certificate.
    pub mutual: bool,
    pub closes: bool,
    pub resumes: bool,
    pub has_early_data: bool,
    pub updates_keys: bool,
    pub has_connection_ids: bool,
    /// Its client asks for connection IDs.
    pub renames: bool,
    /// Its server follows a client that moves.
    pub follows: bool,
    pub hybrid: bool,
    /// It can be given a small MTU.
    pub has_mtu: bool,
}

/// One with everything.
const FULL: Peer = Peer {
    name: "",
    has_server: true,
    has_cookies: true,
    mutual: true,
    closes: true,
    resumes: true,
    has_early_data: true,
    updates_keys: true,
    has_connection_ids: true,
    renames: true,
    follows: true,
    hybrid: true,
    has_mtu: true,
};

pub const PEERS: [Peer; 4] = [
    Peer { name: "wolfssl", renames: false, ..FULL },
    Peer {
        name: "boring",
        has_cookies: false,
        has_early_data: false,
        has_connection_ids: false,
        renames: false,
        follows: false,
        ..FULL
    },
    Peer { name: "purecrypto", ..FULL },
    Peer {
        name: "krabitls",
        has_server: false,
        has_cookies: false,
        mutual: false,
        closes: false,
        resumes: false,
        has_early_data: false,
        updates_keys: false,
        renames: false,
        follows: false,
        hybrid: false,
        has_mtu: false,
        ..FULL
    },
];

/// A case that fails because of the peer.
pub struct Known {
    pub peer: &'static str,
    pub is_server: bool,
    /// The name of the case.
    pub case: &'static str,
    /// What it does, and what RFC 9147 requires.
    pub reason: &'static str,
}

pub const KNOWN: &[Known] = &[Known {
    peer: "krabitls",
    is_server: false,
    case: "the client's datagram 3 lost",
    reason: "its Finished has no timer (RFC 9147 §5.8.1: in WAITING an expired timer sends the flight again)",
}];
