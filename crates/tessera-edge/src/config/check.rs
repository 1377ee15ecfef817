//! Contradictory keys. A key that would be ignored silently is an error.

use std::collections::BTreeMap;
use std::time::Duration;

use tessera_kit::{ProgramError, hex};
use tessera_proxy::address::{DialAddress, ListenAddress};
use tessera_proxy::config::{
    Contradiction, check_listeners, find_impossible_name, find_name_with_kind, find_zero_count,
    find_zero_time, wrong,
};
use tessera_proxy::stores::SitesSection;
use tessera_signer::SignerAddress;

use super::{
    ClientsSection, EdgeConfig, EnvoysSection, Limits, NamedBy, PoolSection, ProxySection,
    ServiceSection,
};
use crate::paths::{CanonicalPath, is_plain_path};

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

    fn check_services(&self) -> Result<(), ProgramError> {
        if self.service.is_empty() {
            return wrong("proxy", "name", "no service is configured: add a [service.NAME]");
        }
        let mut places: BTreeMap<(&str, CanonicalPath), &str> = BTreeMap::new();
        for (name, section) in &self.service {
            let label = format!("service.{name}");
            if let Some((key, what)) = section.find_contradiction(&self.clients) {
                return wrong(label, key, what);
            }
            let hosts = section.hosts.iter().map(String::as_str);
            for host in hosts.chain(section.hosts.is_empty().then_some("")) {
                if let Some(other) = places.insert((host, CanonicalPath::of(&section.path)), name) {
                    let what = format!(
                        "[service.{other}] has this host and path already: change one of them"
                    );
                    return wrong(label, "path", what);
                }
            }
        }
        Ok(())
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

impl ServiceSection {
    fn find_contradiction(&self, clients: &ClientsSection) -> Contradiction {
        if self.instances.is_empty() {
            return Some(("instances", "names no address at which the service runs"));
        }
        if !self.path.starts_with('/') || !is_plain_path(&self.path) {
            return Some(("path", "must begin with / and have no segment `.` or `..`"));
        }
        let is_host = |host: &String| {
            !host.is_empty()
                && host
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
        };
        if !self.hosts.iter().all(is_host) {
            return Some(("hosts", "must be names in lower case, without a port"));
        }
        let is_method = |method: &String| {
            !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-')
        };
        if !self.methods.iter().all(is_method) {
            return Some(("methods", "must be methods as HTTP writes them: \"GET\""));
        }
        if self.methods.iter().any(|method| method == "CONNECT" || method == "TRACE") {
            return Some(("methods", "CONNECT and TRACE don't pass this proxy: remove them"));
        }
        if !self.admit.is_empty() && clients.named_by != NamedBy::Certificate {
            return Some((
                "admit",
                "needs clients named by their certificates: see [clients] named-by",
            ));
        }
        let impossible = find_impossible_name("admit", &self.admit);
        if impossible.is_some() {
            return impossible;
        }
        if let Some(state) = &self.state {
            if !state.starts_with('/') || !is_plain_path(state) || state.contains(['?', '#']) {
                return Some(("state", "must be a path that begins with /"));
            }
            let [own, private] =
                [&self.path, state].map(|path| CanonicalPath::of(path).in_any_case());
            if own.is_below(&private) {
                return Some((
                    "state",
                    "must be a path of its own: clients reach nothing below it, and so not this service",
                ));
            }
            let rank = self.instances.first().map(|first| first.rank);
            if self.instances.iter().any(|it| Some(it.rank) != rank) {
                return Some((
                    "state",
                    "needs instances of one rank, which share it: those of another have none, or that of another proxy",
                ));
            }
            if clients.named_by == NamedBy::Nothing {
                return Some(("state", "needs clients that have names: see [clients] named-by"));
            }
        }
        if self.server_name.is_some() && self.ca.is_none() {
            return Some((
                "server-name",
                "has no effect without `ca`: remove the key, or set `ca`",
            ));
        }
        if self.http2 && self.ca.is_some() {
            return Some(("http2", "with TLS the version is chosen by ALPN: remove the key"));
        }
        find_zero_time(&[("connect", self.connect)])
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::config::Document;

    use super::*;

    const GOOD: &str = include_str!("../../../../packaging/edge.toml");

    fn problem(text: &str) -> String {
        let document = Document::from_text(Path::new("/edge.toml"), text.to_owned());
        let checked = document
            .parse::<EdgeConfig>()
            .and_then(|edge| edge.check().map_err(|error| document.locate(error)));
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_example_of_the_package_has_no_contradiction() {
        assert_eq!(problem(GOOD), "");
    }

    #[test]
    fn contradictions_name_their_key_and_the_fix() {
        for (from, to, begins) in [
            ("ma = 30", "ma = 61", "[pool] ma: must be whole seconds, 1 to 60"),
            ("ma = 30", "ma = \"500ms\"", "[pool] ma: must be whole seconds"),
            ("dwell = 30", "dwell = 29", "[pool] dwell: must be at least `ma`"),
            ("name = \"a\"", "name = \"a b\"", "[proxy] name: must be 1 to 64"),
            (
                "announce = \"a.example:443\"",
                "announce = \"a.example\"",
                "[proxy] announce: must be",
            ),
            ("announce = \"a.example:443\"", "announce = 'a\"b:443'", "[proxy] announce: must be"),
            (
                "address = \"a.internal:9443\"",
                "address = \"a.internal\"",
                "[peers] address: must be",
            ),
            (
                "listen = \":9443\"",
                "listen = \":443\"",
                "[peers] listen: [proxy] listen is already",
            ),
            ("named-by = \"certificate\"", "named-by = \"cookie\"", "[clients] ca: has no effect"),
            (
                "ca = \"clients.pem\"",
                "ca = \"clients.pem\"\nbound-per-address = 7",
                "[clients] bound-per-address: has no effect",
            ),
            ("ca = \"clients.pem\"", "", "[clients] ca: clients named by their certificates"),
            ("path = \"/\"", "path = \"/a/../\"", "[service.web] path: must begin with /"),
            ("hosts = [\"www.example\"]", "hosts = [\"WWW.example\"]", "[service.web] hosts: must"),
            ("path = \"/\"", "path = \"/\"\nmethods = [\"get\"]", "[service.web] methods: must be"),
            (
                "path = \"/\"",
                "path = \"/\"\nmethods = [\"TRACE\"]",
                "[service.web] methods: CONNECT",
            ),
            ("path = \"/\"", "path = \"/\"\nstate = \"x\"", "[service.web] state: must be a path"),
            (
                "path = \"/\"",
                "path = \"/\"\nadmit = [\"dns:drone.example\"]",
                "[service.web] admit: write names as",
            ),
            (
                "path = \"/\"",
                "path = \"/\"\nadmit = [\"*.example\"]",
                "[service.web] admit: names are compared",
            ),
            (
                "path = \"/\"",
                "path = \"/A/b\"\nstate = \"//a\"",
                "[service.web] state: must be a path of its own",
            ),
            (
                "instances = [\"127.0.0.1:8080\"]",
                "instances = [\"127.0.0.1:8080\", { address = \"b:1\", rank = 1 }]\nstate = \"/state\"",
                "[service.web] state: needs instances of one rank",
            ),
            ("path = \"/\"", "path = \"/\"\nserver-name = \"x\"", "[service.web] server-name: has"),
            (
                "instances = [\"127.0.0.1:8080\"]",
                "instances = []",
                "[service.web] instances: names",
            ),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let problem = problem(&GOOD.replacen(from, to, 1));
            let (_, what) = problem.split_once(": ").unwrap_or_default();
            assert!(what.starts_with(begins), "{to}: {problem}");
        }
        let envoys =
            |text: &str| problem(&format!("{GOOD}\n[envoys]\nkey = \"ring.key\"\n{text}\n"));
        assert_eq!(envoys("pool = \"www\""), "");
        assert!(envoys("pool = \"\"").contains("[envoys] pool: must be that"));
        assert!(envoys("pool = \"www\"\nrotate-every = 0").contains("[envoys] rotate-every: "));
        assert_eq!(envoys("pool = \"www\"\nserver-names = [\"*.example\"]"), "");
        let with_kind = envoys("pool = \"www\"\nserver-names = [\"dns:www.example\"]");
        assert!(with_kind.contains("[envoys] server-names: write names as"), "{with_kind}");
        let sites = |from: &str, to: &str| {
            let (own, other) = ("0f".repeat(16), "1f".repeat(16));
            let table = format!(
                "one-time-keys = {{ listen = \":9444\", vault-name = \"{own}\", ca = \"p.pem\", certificate = \"a.pem\", \
                 others = [{{ address = \"b:1\", server-name = \"b\", vault-name = \"{other}\" }}] }}"
            );
            problem(&GOOD.replacen("site = \"north\"", &table.replace(from, to), 1))
        };
        assert_eq!(sites("", ""), "");
        let (other, own) = ("1f".repeat(16), "0F".repeat(16));
        for (from, to, begins) in [
            ("0f0f", "xf0f", "vault-name: must be set"),
            ("0f0f", "0f", "vault-name: must be set"),
            ("1f1f", "1f", "others: the `vault-name`"),
            (&other, &own, "others: has the"),
            (":9444", "systemd:keys", "listen: must be"),
        ] {
            let problem = sites(from, to);
            assert!(problem.contains(&format!("[proxy.one-time-keys] {begins}")), "{problem}");
        }
        let signer = |more: &str, servers: &str| {
            let table = format!(
                "{more}signer = {{ servers = [{servers}], name = \"www\", ca = \"s.pem\", certificate = \"a.pem\" }}"
            );
            problem(&GOOD.replacen("site = \"north\"", &table, 1))
        };
        assert_eq!(signer("", "\"signer.internal:9444\""), "");
        let both = signer("key = \"www.key\"\n", "\"signer.internal:9444\"");
        assert!(both.contains("[proxy] signer: the private key is in `key`"), "{both}");
        for servers in ["", "\"signer.internal\""] {
            assert!(signer("", servers).contains("[proxy] signer: `servers` lists"), "{servers}");
        }
        let first = GOOD.replacen("path = \"/\"", "path = \"/a\"", 1);
        for (path, same) in [("/a", true), ("//a", true), ("/%61", true), ("/a/", false)] {
            let two = format!(
                "[service.two]\nhosts = [\"www.example\"]\npath = \"{path}\"\ninstances = [\"b:1\"]\n"
            );
            let problem = problem(&format!("{first}\n{two}"));
            assert_eq!(
                problem.contains("has this host and path already"),
                same,
                "{path}: {problem}"
            );
        }
    }
}
