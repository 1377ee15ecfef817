//! Contradictory keys. A key that would be ignored silently is an error.

mod service;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tessera_kit::{ProgramError, hex};
use tessera_proxy::address::{DialAddress, ListenAddress};
use tessera_proxy::config::{
    Contradiction, check_listeners, find_name_with_kind, find_zero_count, find_zero_time, wrong,
};
use tessera_proxy::stores::SitesSection;
use tessera_signer::SignerAddress;

use super::{
    ClientsSection, EdgeConfig, EnvoysSection, Limits, NamedBy, PoolSection, ProxySection,
};

/// The longest `ma`: how long a dead alternative may cost a client everything.
const LONGEST_MA: Duration = Duration::from_secs(60);

impl EdgeConfig {
    /// Finds contradictions, without reading any file.
    ///
    /// # Errors
    /// `[section] key: ` and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        let sections = [
            ("pool", self.pool.find_contradiction()),
            ("proxy", self.proxy.find_contradiction()),
            ("envoys", self.envoys.as_ref().and_then(EnvoysSection::find_contradiction)),
            ("clients", self.clients.find_contradiction()),
            ("limits", self.limits.find_contradiction()),
        ];
        for (section, contradiction) in sections {
            if let Some((key, what)) = contradiction {
                return wrong(section, key, what);
            }
        }
        if !is_authority(&self.peers.address) {
            let what = "must be a name in this proxy's certificate and a port: `a.internal:9443`";
            return wrong("peers", "address", what);
        }
        let admin = self.process.admin.iter().map(|address| ("process", "admin", address));
        match (&self.proxy.listen, &self.ext_authz) {
            (None, None) => {
                return wrong(
                    "proxy",
                    "listen",
                    "must be set, unless clients connect to an Envoy: see [ext-authz]",
                );
            }
            (Some(_), Some(_)) => {
                return wrong(
                    "proxy",
                    "listen",
                    "has no effect with [ext-authz]: remove one of them",
                );
            }
            (None, Some(_)) if self.proxy.signer.is_some() => {
                return wrong("proxy", "signer", "an Envoy signs itself: remove the key");
            }
            (None, Some(_)) if self.proxy.one_time_keys.is_some() => {
                return wrong("proxy", "one-time-keys", "an Envoy has none: remove the key");
            }
            _ => (),
        }
        let clients = self.proxy.listen.iter().map(|address| ("proxy", "listen", address));
        let own = clients.chain([("peers", "listen", &self.peers.listen)]);
        let keys = self.proxy.one_time_keys.iter();
        let keys = keys.map(|sites| ("proxy", "one-time-keys.listen", &sites.listen));
        check_listeners(admin.chain(own).chain(keys))?;
        self.check_services()
    }
}

/// Whether it is `host:port`, as Alt-Svc has it.
pub(crate) fn is_authority(text: &str) -> bool {
    let is_plain = text.chars().all(|c| c.is_ascii_graphic() && c != '"' && c != '\\');
    let address = text.parse::<DialAddress>();
    // It is written between quotes.
    is_plain
        && address
            .is_ok_and(|it| it.host().is_some_and(|host| !host.is_empty()) && it.port().is_some())
}

impl PoolSection {
    fn find_contradiction(&self) -> Contradiction {
        if self.etcd.is_some() == self.file.is_some() {
            return Some((
                "etcd",
                "the pool needs one store: set `etcd`, or for a single proxy `file`",
            ));
        }
        let times = [("dwell", self.dwell), ("prepare", self.prepare), ("follow", self.follow)];
        let zero = find_zero_time(&times);
        if zero.is_some() {
            return zero;
        }
        if !(Duration::from_secs(1)..=LONGEST_MA).contains(&self.ma) || self.ma.subsec_nanos() > 0 {
            return Some((
                "ma",
                "must be whole seconds, 1 to 60: a client may stay for so long with a proxy that is dead",
            ));
        }
        if self.dwell < self.ma {
            return Some((
                "dwell",
                "must be at least `ma`: a client may follow an announcement for so long",
            ));
        }
        None
    }
}

impl ProxySection {
    fn find_contradiction(&self) -> Contradiction {
        let is_name = |name: &str| name.len() <= 64 && name.chars().all(|c| c.is_ascii_graphic());
        if self.name.is_empty() || !is_name(&self.name) {
            return Some(("name", "must be 1 to 64 printable ASCII characters"));
        }
        if let Some(signer) = &self.signer {
            if self.key.is_some() {
                return Some(("signer", "the private key is in `key`: remove one of the two"));
            }
            let is_wrong = |server: &String| SignerAddress::new(server).is_err();
            if signer.servers.is_empty() || signer.servers.iter().any(is_wrong) {
                return Some((
                    "signer",
                    "`servers` lists the host and the port of each signer: [\"signer.internal:9444\"]",
                ));
            }
        }
        if !is_name(&self.site) {
            return Some(("site", "must be at most 64 printable ASCII characters"));
        }
        if !is_authority(&self.announce) {
            return Some((
                "announce",
                "must be the host and the port at which clients reach this proxy: `a.example:443`",
            ));
        }
        self.one_time_keys.as_ref().and_then(find_wrong_site)
    }
}

fn find_wrong_site(sites: &SitesSection) -> Contradiction {
    let vault = |name: &str| hex::decode(name).filter(|name| name.len() == 16);
    let Some(own) = sites.vault_name.as_deref().and_then(vault) else {
        return Some((
            "one-time-keys.vault-name",
            "must be set to 32 hexadecimal digits, by which others know this vault: openssl rand -hex 16 prints them",
        ));
    };
    let others: Option<Vec<_>> = sites.others.iter().map(|it| vault(&it.vault_name)).collect();
    match others {
        None => {
            return Some((
                "one-time-keys.others",
                "the `vault-name` of each must be the 32 hexadecimal digits of that proxy's vault",
            ));
        }
        Some(others) if others.contains(&own) => {
            return Some((
                "one-time-keys.others",
                "has the `vault-name` of this proxy: give each proxy its own, and list only the others",
            ));
        }
        Some(_) => (),
    }
    let is_tcp = matches!(sites.listen, ListenAddress::Everywhere(_) | ListenAddress::Tcp(_));
    (!is_tcp).then_some((
        "one-time-keys.listen",
        "must be an address and a port: the other proxies reach the vault by TCP",
    ))
}

impl EnvoysSection {
    fn find_contradiction(&self) -> Contradiction {
        if self.pool.is_empty() {
            return Some(("pool", "must be that of the Envoys' sidecars: `[envoy.NAME]` there"));
        }
        let times =
            [("rotate-every", self.rotate_every), ("ticket-lifetime", self.ticket_lifetime)];
        find_name_with_kind("server-names", &self.server_names).or_else(|| find_zero_time(&times))
    }
}

impl ClientsSection {
    fn find_contradiction(&self) -> Contradiction {
        match (self.named_by, &self.ca) {
            (NamedBy::Certificate, None) => {
                return Some((
                    "ca",
                    "clients named by their certificates need the authorities of these",
                ));
            }
            (NamedBy::Nothing | NamedBy::Cookie, Some(_)) => {
                return Some((
                    "ca",
                    "has no effect unless `named-by` is \"certificate\": remove the key",
                ));
            }
            _ => (),
        }
        let is_token = |name: &str| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
        };
        if !is_token(&self.cookie) {
            return Some(("cookie", "must be a token (RFC 9110 §5.6.2): letters, digits, - and _"));
        }
        if self.bound_per_address.is_some() && self.named_by != NamedBy::Cookie {
            return Some((
                "bound-per-address",
                "has no effect unless `named-by` is \"cookie\": remove the key",
            ));
        }
        let counts =
            [("bound", self.bound), ("bound-per-address", self.bound_per_address.unwrap_or(1))];
        find_zero_count(&counts).or_else(|| find_zero_time(&[("idle", self.idle)]))
    }
}

impl Limits {
    fn find_contradiction(&self) -> Contradiction {
        let times = [
            ("handshake", self.handshake),
            ("head", self.head),
            ("answer", self.answer),
            ("body-idle", self.body_idle),
            ("idle", self.idle),
            ("write", self.write),
        ];
        self.gate()
            .find_contradiction()
            .or_else(|| {
                find_zero_count(&[
                    ("websockets-per-client", self.websockets_per_client),
                    ("streams", self.streams as usize),
                ])
            })
            .or_else(|| find_zero_time(&times))
    }
}
