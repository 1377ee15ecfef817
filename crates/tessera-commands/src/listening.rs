//! Listening at an address, and why that fails.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use serde::Serialize;
use tessera_kit::ProgramError;
use tessera_kit::report::Fact;

/// The first fact: a server listens, or a client for local programs.
#[derive(Serialize)]
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    /// For people only.
    #[serde(skip)]
    pub(crate) is_udp: bool,
    /// The SHA-256 of the server's certificate.
    pub(crate) fingerprint: Option<String>,
    pub(crate) self_signed: bool,
    /// For people only: the fact about the state names its directory.
    #[serde(skip)]
    pub(crate) is_kept: bool,
    /// Whether data in SYNs is accepted; `None` if the options don't ask for it.
    pub(crate) fast_open: Option<&'static str>,
    /// Why it isn't.
    pub(crate) fast_open_lacks: Option<String>,
    /// For people only: whether clients over UDP learn at once that a restart lost their connections; `None` over TCP, and
    /// at a client.
    #[serde(skip)]
    pub(crate) resets: Option<bool>,
}

impl Fact for Listening {
    const EVENT: &'static str = "listening";
}

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let udp = if self.is_udp { " --udp" } else { "" };
        write!(f, "listening on {}{}", self.address, if self.is_udp { " (UDP)" } else { "" })?;
        if let Some(fingerprint) = &self.fingerprint {
            write!(f, "\ncertificate SHA-256 {fingerprint}")?;
            if self.self_signed {
                let how =
                    if self.is_kept { "made once, kept in the state" } else { "made for this run" };
                write!(
                    f,
                    " ({how})\ntrust it with: tessera connect {}{udp} --fingerprint {fingerprint}",
                    self.address
                )?;
            }
        }
        if let Some(error) = &self.fast_open_lacks {
            write!(f, "\nno TCP Fast Open: {error}")?;
        }
        match self.resets {
            Some(false) => f.write_str(
                "\nno resets: after a restart clients wait until they give up; --state DIR keeps a key for resets",
            ),
            _ => Ok(()),
        }
    }
}

pub(crate) fn cannot_listen(address: SocketAddr, error: &io::Error) -> ProgramError {
    ProgramError::Failed(match error.kind() {
        ErrorKind::AddrInUse => format!(
            "{address}: another program already listens there; stop it, or use another port: \
             --listen {}:0 picks a free one",
            address.ip()
        ),
        ErrorKind::PermissionDenied => {
            format!(
                "{address}: ports below 1024 need privileges; use another: --listen {}:4433",
                address.ip()
            )
        }
        ErrorKind::AddrNotAvailable => format!(
            "{address}: this machine doesn't have that address; --listen 0.0.0.0:{} listens on all it has",
            address.port()
        ),
        _ => format!("{address}: {error}"),
    })
}
