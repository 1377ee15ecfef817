//! The server behind a member of the ring.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use tessera_vault::{TicketKey, TicketKeyRing};

/// The ticket keys that a server should hold now.
#[derive(Debug, Default)]
pub struct RingKeys {
    /// Since the Unix epoch, by this member's clock.
    pub now: Duration,
    /// Seals tickets, and opens them. None: no key may seal now, and the server must issue no ticket that another
    /// member opens.
    pub issuing: Option<Box<TicketKey>>,
    /// Becomes the issuing key once every live member holds it. It opens tickets.
    pub next: Option<Box<TicketKey>>,
    /// They open tickets; the newest first.
    pub earlier: Vec<Box<TicketKey>>,
}

impl RingKeys {
    /// Returns the keys in their order: the issuing one, the next one, the earlier ones.
    pub fn in_order(&self) -> impl Iterator<Item = &TicketKey> {
        self.issuing.iter().chain(&self.next).chain(&self.earlier).map(|key| &**key)
    }
}

/// A running [`Installer::install`].
pub type Installation<'a> = Pin<Box<dyn Future<Output = Result<(), InstallRefused>> + Send + 'a>>;

/// Gives the ring's keys to the server of a member.
pub trait Installer: Send + Sync + 'static {
    /// Makes the server hold exactly these keys, in their roles. It returns once the server has confirmed that it does:
    /// what follows is the member's acknowledgement, on which others rely.
    ///
    /// It is called when keys or roles change, one call at a time, and again after a refusal. Dropping the future may
    /// leave the server with the earlier keys or with these.
    fn install<'a>(&'a self, keys: &'a RingKeys) -> Installation<'a>;

    /// Returns how often to install the keys again though nothing has changed, to notice a server that lost them. Default:
    /// never.
    fn check_every(&self) -> Option<Duration> {
        None
    }
}

/// A server didn't take the keys; the text names the server, the reason, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallRefused(pub String);

impl fmt::Display for InstallRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InstallRefused {}

/// Tessera's own server, in this process. Its ring enforces the keys' times by itself.
impl Installer for TicketKeyRing {
    fn install<'a>(&'a self, keys: &'a RingKeys) -> Installation<'a> {
        let installed = self.install_copies(keys.in_order(), keys.now);
        Box::pin(async move { installed.map_err(|error| InstallRefused(error.to_string())) })
    }
}
