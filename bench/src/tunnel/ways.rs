//! The compared tunnels.

/// One row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) tunnel: Tunnel,
    /// TCP Fast Open at all ends.
    pub(crate) fast_open: bool,
}

/// The programs that are not Debian's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Programs {
    /// The program `tessera`; without it only the others are compared.
    pub(crate) tessera: Option<String>,
    /// HAProxy on AWS-LC.
    pub(crate) haproxy_aws_lc: Option<String>,
}

/// The program, and its way of resuming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tunnel {
    /// No tunnel: the client talks to the backend.
    None,
    Stunnel,
    Haproxy(Library),
    Tessera(Tessera),
}

/// The library below HAProxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    /// Debian's.
    OpenSsl,
    /// AWS-LC, ours: built by scripts/haproxy-aws-lc.
    AwsLc,
}

/// The parameters of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tessera {
    /// Forward-secret early data.
    pub(crate) early: bool,
    pub(crate) exchange: Exchange,
    /// Connections kept ready.
    pub(crate) spare: usize,
}

/// The key exchange of a resumed connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// One-time keys and key shares are of X25519.
    X25519,
    /// X25519 one-time keys; the handshake has no other key exchange.
    X25519PskKe,
    /// One-time keys and key shares are of X25519MLKEM768.
    Hybrid,
}

pub(crate) const NONE: Way = Way { name: "no tunnel", tunnel: Tunnel::None, fast_open: false };
pub(crate) const STUNNEL: Way = Way { name: "stunnel", tunnel: Tunnel::Stunnel, fast_open: false };
pub(crate) const HAPROXY: Way =
    Way { name: "HAProxy", tunnel: Tunnel::Haproxy(Library::OpenSsl), fast_open: false };
pub(crate) const HAPROXY_AWS_LC: Way =
    Way { name: "HAProxy, AWS-LC", tunnel: Tunnel::Haproxy(Library::AwsLc), fast_open: false };
pub(crate) const HAPROXY_FAST_OPEN: Way =
    Way { name: "HAProxy, Fast Open", fast_open: true, ..HAPROXY };
pub(crate) const X25519_PSK_KE: Way = tessera("Tessera, X25519, psk_ke", Exchange::X25519PskKe);
pub(crate) const X25519: Way = tessera("Tessera, X25519", Exchange::X25519);
pub(crate) const HYBRID: Way = tessera("Tessera, hybrid", Exchange::Hybrid);
pub(crate) const FAST_OPEN: Way =
    Way { name: "Tessera, X25519, Fast Open", fast_open: true, ..X25519 };
pub(crate) const WITHOUT_EARLY_DATA: Way = Way {
    name: "Tessera, X25519, no early data",
    tunnel: Tunnel::Tessera(Tessera { early: false, exchange: Exchange::X25519, spare: 0 }),
    fast_open: false,
};
pub(crate) const SPARE: Way = Way {
    name: "Tessera, X25519, spare = 4",
    tunnel: Tunnel::Tessera(Tessera { early: false, exchange: Exchange::X25519, spare: 4 }),
    fast_open: false,
};

const fn tessera(name: &'static str, exchange: Exchange) -> Way {
    let tunnel = Tunnel::Tessera(Tessera { early: true, exchange, spare: 0 });
    Way { name, tunnel, fast_open: false }
}

impl Way {
    /// Whether its program is among these.
    pub(crate) fn is_available(&self, programs: &Programs) -> bool {
        match self.tunnel {
            Tunnel::Tessera(_) => programs.tessera.is_some(),
            Tunnel::Haproxy(Library::AwsLc) => programs.haproxy_aws_lc.is_some(),
            _ => true,
        }
    }

    /// Whether it is one of ours.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self.tunnel, Tunnel::Tessera(_))
    }
}
