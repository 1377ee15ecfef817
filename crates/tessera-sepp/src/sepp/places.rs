//! Addresses of peers and local network functions.

use http::uri::Authority;
use tessera_kit::ProgramError;
use tessera_proxy::address::HostPort;
use tessera_proxy::http::client::{Addresses, Srv, Target};

use crate::config::{DialAddress, Peer};
use crate::names::Fqdn;
use crate::sbi::api_root::Scheme;

/// Returns the addresses of a peer's N32-c: the configured ones, each used if those before it fail, or those from DNS.
/// If the name isn't the peer's own, DNS resolves it.
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

/// Returns the addresses of a peer's N32-f: those in the configuration, else as announced over N32-c, else those of its
/// N32-c.
///
/// # Errors
/// As for [`n32c`].
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

/// Returns whether any address of the peer's N32-f is known. If not, this SEPP doesn't dial; the peer connects.
pub(super) fn has_n32f(peer: &Peer, name: &Fqdn, ports: &[u16]) -> bool {
    let is_configured =
        !peer.address.is_empty() || !peer.n32f_address.is_empty() || peer.srv.is_some();
    is_configured || *name != peer.fqdn || !ports.is_empty()
}

/// Returns `:authority` on N32-f: the receiving SEPP, with its port unless that is the default.
pub(super) fn n32f_authority(peer: &Peer, name: &Fqdn, ports: &[u16]) -> Option<Authority> {
    match peer.n32f_address.first() {
        Some(configured) => authority(name, port_of(configured)),
        None => n32c_authority(peer, name, ports.first().copied()),
    }
}

/// Returns `:authority` on N32-c.
pub(super) fn n32c_authority(peer: &Peer, name: &Fqdn, port: Option<u16>) -> Option<Authority> {
    let configured = peer.address.first().filter(|_| *name == peer.fqdn);
    authority(name, port.or(configured.and_then(port_of)))
}

fn authority(name: &Fqdn, port: Option<u16>) -> Option<Authority> {
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

/// Returns the same host at another port.
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

/// Returns addresses of which each is used if those before it fail.
fn in_order(addresses: impl Iterator<Item = DialAddress>) -> Addresses {
    let target = |(index, address)| {
        let priority = u16::try_from(index).unwrap_or(u16::MAX);
        Target { priority, ..Target::new(address) }
    };
    Addresses::Fixed(addresses.enumerate().map(target).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::config::Document;

    use super::*;

    const NAME: &str = "sepp2.5gc.mnc001.mcc001.3gppnetwork.org";
    const OTHER: &str = "n32f.5gc.mnc001.mcc001.3gppnetwork.org";

    fn peer(lines: &str) -> Peer {
        let text = format!("fqdn = \"{NAME}\"\nplmns = [\"001-01\"]\nanchor = \"a\"\n{lines}");
        Document::from_text(Path::new("peer.toml"), text).parse().unwrap()
    }

    fn shown(addresses: Addresses) -> Vec<(u16, String)> {
        let Addresses::Fixed(targets) = addresses else { panic!("DNS") };
        let text = |address: DialAddress| match address {
            DialAddress::Tcp(address) => address.to_string(),
            DialAddress::Name(name) => format!("{}:{}", name.host, name.port),
            DialAddress::Unix(path) => path.display().to_string(),
        };
        targets.into_iter().map(|target| (target.priority, text(target.address))).collect()
    }

    fn n32f_of(lines: &str, name: &str, ports: &[u16]) -> (Vec<(u16, String)>, String) {
        let (peer, name) = (peer(lines), name.parse().unwrap());
        let authority = n32f_authority(&peer, &name, ports).unwrap().to_string();
        (shown(n32f(&peer, &name, ports).unwrap()), authority)
    }

    #[test]
    fn n32f_is_where_configured_or_where_n32c_announces_or_where_n32c_is() {
        let two = "address = [\"192.0.2.1:7443\", \"192.0.2.2:7443\"]\n";
        let at = |list: &[&str]| -> Vec<(u16, String)> {
            (0..).zip(list.iter().map(|text| (*text).to_owned())).collect()
        };
        let found = n32f_of(two, NAME, &[]);
        assert_eq!(found, (at(&["192.0.2.1:7443", "192.0.2.2:7443"]), format!("{NAME}:7443")));
        let found = n32f_of(two, NAME, &[443]);
        assert_eq!(found, (at(&["192.0.2.1:443", "192.0.2.2:443"]), NAME.to_owned()));
        let found = n32f_of(two, OTHER, &[7444]);
        assert_eq!(found, (at(&[&format!("{OTHER}:7444")]), format!("{OTHER}:7444")));
        let configured = format!("{two}n32f-address = [\"192.0.2.9:9\"]");
        let found = n32f_of(&configured, NAME, &[7444]);
        assert_eq!(found, (at(&["192.0.2.9:9"]), format!("{NAME}:9")));
        assert_eq!(n32f_of(two, OTHER, &[]), (at(&[&format!("{OTHER}:443")]), OTHER.to_owned()));
    }

    #[test]
    fn a_peer_without_a_known_address_is_not_dialled() {
        let has = |lines: &str, name: &str, ports: &[u16]| {
            has_n32f(&peer(lines), &name.parse().unwrap(), ports)
        };
        let waits = "initiate = false\n";
        assert!(
            !has(waits, NAME, &[])
                && shown(n32f(&peer(waits), &NAME.parse().unwrap(), &[]).unwrap()).is_empty()
        );
        assert!(has(waits, NAME, &[7443]) && has(waits, OTHER, &[]));
        for place in [
            "address = [\"192.0.2.1:1\"]",
            "srv = \"_n32._tcp.example\"",
            "n32f-address = [\"192.0.2.1:1\"]",
        ] {
            assert!(has(place, NAME, &[]), "{place}");
        }
    }

    #[test]
    fn n32c_of_another_name_is_for_dns_to_find() {
        let peer = peer("address = [\"192.0.2.1:7443\"]");
        let other = OTHER.parse().unwrap();
        let found = shown(n32c(&peer, &other, Some(7)).unwrap());
        assert_eq!(found, [(0, format!("{OTHER}:7"))]);
        let found = shown(n32c(&peer, &peer.fqdn, None).unwrap());
        assert_eq!(found, [(0, "192.0.2.1:7443".to_owned())]);
    }
}
