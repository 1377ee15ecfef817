//! Where peers and own network functions are.

use http::uri::Authority;
use tessera_kit::ProgramError;
use tessera_proxy::address::HostPort;
use tessera_proxy::http::client::{Addresses, Srv, Target};

use crate::config::{DialAddress, Peer};
use crate::names::Fqdn;
use crate::sbi::api_root::Scheme;

/// Where the N32-c of a peer is: its addresses, each used while those before it fail, or what DNS says. Where DNS has the
/// name, if that isn't the peer's own.
///
/// # Errors
/// If the system has no name servers.
pub(super) fn n32c(peer: &Peer, name: &Fqdn, port: Option<u16>) -> Result<Addresses, ProgramError> {
    if *name != peer.fqdn {
        return Ok(at_name(name, &[port.unwrap_or(Scheme::Https.default_port())]));
    }
    match &peer.srv {
        None => Ok(in_order(peer.address.iter().map(|address| match port {
            Some(port) => at(address, port),
            None => address.clone(),
        }))),
        Some(name) => {
            let srv = Srv::of_system(name).map_err(|error| ProgramError::failed("DNS", error))?;
            Ok(Addresses::Srv(Box::new(srv)))
        }
    }
}

/// Where the N32-f of a peer is: as the configuration says, else as its N32-c said, else where its N32-c is.
///
/// # Errors
/// As of [`n32c`].
pub(super) fn n32f(peer: &Peer, name: &Fqdn, ports: &[u16]) -> Result<Addresses, ProgramError> {
    if !peer.n32f_address.is_empty() {
        return Ok(in_order(peer.n32f_address.iter().cloned()));
    }
    let is_elsewhere = *name != peer.fqdn || peer.address.is_empty();
    match ports {
        [] => n32c(peer, name, None),
        ports if is_elsewhere => Ok(at_name(name, ports)),
        ports => Ok(in_order(
            peer.address.iter().flat_map(|address| ports.iter().map(|&port| at(address, port))),
        )),
    }
}

/// What stands in `:authority` on N32-f: the receiving SEPP, with its port if that isn't the usual one.
pub(super) fn authority(peer: &Peer, name: &Fqdn, ports: &[u16]) -> Option<Authority> {
    let configured = peer.n32f_address.first().or(peer.address.first());
    let port = match ports.first() {
        Some(&port) => Some(port),
        None => configured.and_then(port_of),
    };
    match port.filter(|&port| port != Scheme::Https.default_port()) {
        Some(port) => format!("{name}:{port}").parse().ok(),
        None => name.as_str().parse().ok(),
    }
}

fn port_of(address: &DialAddress) -> Option<u16> {
    match address {
        DialAddress::Tcp(address) => Some(address.port()),
        DialAddress::Name(name) => Some(name.port),
        DialAddress::Unix(_) => None,
    }
}

/// The same host at another port.
fn at(address: &DialAddress, port: u16) -> DialAddress {
    let mut address = address.clone();
    match &mut address {
        DialAddress::Tcp(address) => address.set_port(port),
        DialAddress::Name(name) => name.port = port,
        DialAddress::Unix(_) => {}
    }
    address
}

fn at_name(name: &Fqdn, ports: &[u16]) -> Addresses {
    let at = |&port: &u16| DialAddress::Name(HostPort { host: name.as_str().to_owned(), port });
    in_order(ports.iter().map(at))
}

/// Each is used while those before it fail.
fn in_order(addresses: impl Iterator<Item = DialAddress>) -> Addresses {
    let target = |(index, address)| {
        let priority = u16::try_from(index).unwrap_or(u16::MAX);
        Target { priority, ..Target::new(address) }
    };
    Addresses::Fixed(addresses.enumerate().map(target).collect())
}
