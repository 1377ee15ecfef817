//! Why a link could not be made or changed.

use std::net::IpAddr;
use std::{error, fmt, io};

/// A permission or device that the machine lacks for an emulated link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prerequisite {
    /// The right to create a user namespace, for users other than root.
    UserNamespaces,
    /// The right to create network namespaces.
    NetworkNamespaces,
    /// The device that TUN interfaces are made from.
    TunDevice,
}

impl fmt::Display for Prerequisite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserNamespaces => {
                "this user may not create a user namespace, so the link needs to run as root"
            }
            Self::NetworkNamespaces => {
                "this process may not create network namespaces; it needs CAP_SYS_ADMIN, as root \
                 or in a user namespace entered before"
            }
            Self::TunDevice => {
                "this process cannot make a TUN interface; it needs to read and write /dev/net/tun"
            }
        })
    }
}

/// Why a link could not be made or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// The machine does not allow an emulated link.
    Unavailable {
        /// What is missing.
        missing: Prerequisite,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The parameters ask for emulation, which a loopback link does not do.
    NoEmulation {
        /// Why the link became a loopback one, unless it was requested.
        reason: Option<Box<LinkError>>,
    },
    /// The parameters are invalid.
    Parameters(&'static str),
    /// The link has no client address like this one.
    NoAddress(IpAddr),
    /// A mesh does not have, or cannot have, a node or a link; the text names it.
    Mesh(String),
    /// A step failed that the machine allows.
    System {
        /// The step.
        doing: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
}

impl LinkError {
    /// Wraps the failure of a step that the machine allows.
    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { missing, source } => {
                write!(f, "the emulated link is not available: {missing} ({source})")
            }
            Self::NoEmulation { reason: None } => f.write_str(
                "a loopback link emulates nothing: leave its parameters out, or ask for an emulated link",
            ),
            Self::NoEmulation { reason: Some(reason) } => {
                write!(f, "these parameters need emulation, but {reason}")
            }
            Self::NoAddress(address) => {
                write!(f, "the client's end of the link does not have the address {address}")
            }
            Self::Parameters(what) => f.write_str(what),
            Self::Mesh(what) => f.write_str(what),
            Self::System { doing, source } => write!(f, "{doing}: {source}"),
        }
    }
}

impl error::Error for LinkError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Unavailable { source, .. } | Self::System { source, .. } => Some(source),
            Self::NoEmulation { reason } => {
                reason.as_deref().map(|e| e as &(dyn error::Error + 'static))
            }
            Self::NoAddress(_) | Self::Parameters(_) | Self::Mesh(_) => None,
        }
    }
}
