//! A foreign NF's address in one label.

use std::fmt::Write as _;
use std::sync::Arc;

use super::foreign::ForeignFunction;
use super::long::LongNames;
use crate::names::{Fqdn, NetworkDomain};
use crate::sbi::api_root::{Scheme, split_authority};

/// The telescopic names of one SEPP: `LABEL.domain` represents an NF of another network, so that a wildcard certificate
/// of the domain covers all (Nsepp_Telescopic_FQDN_Mapping, TS 29.573).
///
/// The label is computed from the name and back, so there is no table to lose at a restart, and other instances read
/// the same. `-` is doubled, `.` becomes `-d`; `-n` and six digits name the network; `-p` and a port, and `-h` for
/// plaintext HTTP may follow. `nrf.5gc.mnc001.mcc999.3gppnetwork.org` is `nrf-n999001`. A name that is too long for
/// this is remembered under a digest.
#[derive(Debug, Clone)]
pub struct TelescopicDomain {
    domain: Fqdn,
    /// The port at which local NFs reach this SEPP, unless it is the scheme's default.
    port: Option<u16>,
    scheme: Scheme,
    long: Arc<LongNames>,
}

impl TelescopicDomain {
    /// Creates the names below this domain, which local NFs reach by this scheme and port.
    pub fn new(domain: Fqdn, scheme: Scheme, port: u16) -> Self {
        let port = (port != scheme.default_port()).then_some(port);
        Self { domain, port, scheme, long: Arc::default() }
    }

    /// Keeps the long names that an earlier one of the same domain remembers.
    #[must_use]
    pub fn remembering(mut self, earlier: Option<&Self>) -> Self {
        if let Some(earlier) = earlier.filter(|earlier| earlier.domain == self.domain) {
            self.long = earlier.long.clone();
        }
        self
    }

    /// Returns the domain.
    pub fn domain(&self) -> &Fqdn {
        &self.domain
    }

    /// Returns `LABEL.domain` for a name without port; `None` if it isn't a name of a 5G core.
    pub fn name(&self, foreign: &str) -> Option<String> {
        split_authority(foreign).ok()?;
        Some(format!("{}.{}", self.label(foreign, None, Scheme::Https)?, self.domain))
    }

    /// Returns a URI that leads to the same place through this SEPP; `None` if it need not, or can't, be changed.
    pub fn telescope_uri(
        &self,
        uri: &str,
        is_foreign: impl Fn(&NetworkDomain) -> bool,
    ) -> Option<String> {
        let (scheme, authority, rest) = split_uri(uri)?;
        let (host, port) = split_authority(authority).ok()?;
        if !is_foreign(&NetworkDomain::of_name(host)?) {
            return None;
        }
        let label = self.label(host, port, scheme)?;
        let own = self.scheme.as_str();
        Some(match self.port {
            Some(port) => format!("{own}://{label}.{}:{port}{rest}", self.domain),
            None => format!("{own}://{label}.{}{rest}", self.domain),
        })
    }

    /// Returns the URI in the other network that a telescopic one represents; `None` if it isn't one.
    pub fn original_uri(&self, uri: &str) -> Option<String> {
        let (_, authority, rest) = split_uri(uri)?;
        let (host, _) = split_authority(authority).ok()?;
        Some(format!("{}{rest}", self.original(host)?.api_root()))
    }

    /// Returns what a name of this domain represents; `None` if it isn't telescopic.
    pub fn original(&self, host: &str) -> Option<ForeignFunction> {
        let host = host.strip_suffix('.').unwrap_or(host);
        let domain = self.domain.as_str();
        let (label, dot) = host.split_at_checked(host.len().checked_sub(domain.len() + 1)?)?;
        let is_below = dot.starts_with('.') && dot[1..].eq_ignore_ascii_case(domain);
        if !is_below || label.contains('.') {
            return None;
        }
        let label = label.to_ascii_lowercase();
        parse(&label).or_else(|| self.long.original(&label))
    }

    fn label(&self, host: &str, port: Option<u16>, scheme: Scheme) -> Option<String> {
        let label = label(host, port, scheme)?;
        if label.len() <= 63 {
            return Some(label);
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let port = port.filter(|port| *port != scheme.default_port());
        self.long.label(ForeignFunction { scheme, host, port })
    }
}

/// Splits a URI into scheme, authority and the rest.
fn split_uri(uri: &str) -> Option<(Scheme, &str, &str)> {
    let (scheme, rest) = uri.split_once("://")?;
    let scheme = match scheme {
        _ if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
        _ if scheme.eq_ignore_ascii_case("http") => Scheme::Http,
        _ => return None,
    };
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    Some((scheme, authority, rest))
}

/// Returns the label of a name within a home network domain, of any length.
fn label(host: &str, port: Option<u16>, scheme: Scheme) -> Option<String> {
    let domain = NetworkDomain::of_name(host)?;
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let home = domain.to_string();
    let inner = host.strip_suffix(&home)?.strip_suffix('.')?;
    let mut label = String::with_capacity(inner.len() + 20);
    for letter in inner.chars() {
        match letter {
            '-' => label.push_str("--"),
            '.' => label.push_str("-d"),
            _ => label.push(letter),
        }
    }
    if inner.split('.').any(str::is_empty) {
        return None;
    }
    // 5gc.mncNNN.mccMMM
    let (mnc, mcc) = (home.get(7..10)?, home.get(14..17)?);
    write!(label, "-n{mcc}{mnc}").ok()?;
    if let Some(port) = port.filter(|port| *port != scheme.default_port()) {
        write!(label, "-p{port}").ok()?;
    }
    if scheme == Scheme::Http {
        label.push_str("-h");
    }
    Some(label)
}

/// Returns what a lower-case label represents. Only the output of [`label`] is accepted, so each function has one
/// label.
fn parse(text: &str) -> Option<ForeignFunction> {
    let (mut host, mut rest) = (String::with_capacity(text.len() + 40), text);
    loop {
        let (plain, escape) = rest.split_at(rest.find('-')?);
        host.push_str(plain);
        rest = escape.get(2..)?;
        match escape.as_bytes().get(1)? {
            b'-' => host.push('-'),
            b'd' => host.push('.'),
            b'n' => break,
            _ => return None,
        }
    }
    let (network, mut rest) = rest.split_at_checked(6)?;
    if !network.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (mcc, mnc) = network.split_at(3);
    write!(host, ".5gc.mnc{mnc}.mcc{mcc}.3gppnetwork.org").ok()?;
    let mut scheme = Scheme::Https;
    if let Some(before) = rest.strip_suffix("-h") {
        (scheme, rest) = (Scheme::Http, before);
    }
    let port = match rest.strip_prefix("-p") {
        Some(digits) => Some(digits.parse::<u16>().ok()?),
        None if rest.is_empty() => None,
        None => return None,
    };
    split_authority(&host).ok()?;
    (label(&host, port, scheme)? == text).then_some(ForeignFunction { scheme, host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain() -> TelescopicDomain {
        TelescopicDomain::new(
            "sepp.5gc.mnc070.mcc999.3gppnetwork.org".parse().unwrap(),
            Scheme::Https,
            7777,
        )
    }

    const NRF: &str = "nrf.5gc.mnc001.mcc001.3gppnetwork.org";

    #[test]
    fn a_name_is_one_label_and_comes_back() {
        let domain = domain();
        let name = domain.name(NRF).unwrap();
        assert_eq!(name, "nrf-n001001.sepp.5gc.mnc070.mcc999.3gppnetwork.org");
        assert_eq!(domain.original(&name).unwrap().host, NRF);
        let long = "e8b34f3c-0b0f-4f5d-9d4c-77a1e57f0c11.amf.5gc.mnc001.mcc001.3gppnetwork.org";
        let name = domain.name(long).unwrap();
        assert_eq!(domain.original(&name.to_ascii_uppercase()).unwrap().host, long);
    }

    #[test]
    fn a_uri_keeps_its_scheme_port_path_and_query() {
        let domain = domain();
        let uri = "http://amf-1.x.5gc.mnc001.mcc001.3gppnetwork.org:8080/n/v1?a=b#c";
        let through = domain.telescope_uri(uri, |_| true).unwrap();
        assert_eq!(
            through,
            "https://amf--1-dx-n001001-p8080-h.sepp.5gc.mnc070.mcc999.3gppnetwork.org:7777/n/v1?a=b#c"
        );
        assert_eq!(domain.original_uri(&through).unwrap(), uri);
        assert_eq!(domain.telescope_uri(uri, |_| false), None);
        assert_eq!(domain.telescope_uri(&through.replace("amf", "amf.y"), |_| false), None);
    }

    #[test]
    fn a_foreign_or_too_long_name_has_no_label() {
        let domain = domain();
        for name in ["nrf.example.org", "127.0.0.1", "5gc.mnc001.mcc001.3gppnetwork.org"] {
            assert_eq!(domain.name(name), None, "{name}");
        }
        // No host, but remembered it would take any amount of memory.
        assert_eq!(domain.name(&format!("{}.{NRF}", "a.".repeat(100_000))), None);
        assert_eq!(domain.name(&format!("{}.{NRF}", "a".repeat(64))), None);
    }

    #[test]
    fn a_long_name_has_a_label_that_is_remembered() {
        let domain = domain();
        let long = format!("{}.X.5gc.mnc001.mcc001.3gppnetwork.org", "a".repeat(60));
        let through = domain.telescope_uri(&format!("http://{long}:81/a"), |_| true).unwrap();
        assert!(through.split('.').next().unwrap().len() <= "https://".len() + 63);
        let again = domain.clone().remembering(Some(&domain));
        assert_eq!(
            again.original_uri(&through).unwrap(),
            format!("http://{}:81/a", long.to_ascii_lowercase())
        );
        let other = TelescopicDomain::new(domain.domain().clone(), Scheme::Https, 7777);
        assert_eq!(other.original_uri(&through), None);
    }

    #[test]
    fn a_peer_with_many_long_names_forgets_no_other_peers() {
        let domain = domain();
        let uri = |name: &str, network: &str| {
            format!("http://{}.{name}.5gc.{network}.3gppnetwork.org/", "a".repeat(50))
        };
        let through = domain.telescope_uri(&uri("x", "mnc002.mcc001"), |_| true).unwrap();
        for number in 0..70_000 {
            let uri = uri(&format!("n{number}"), "mnc001.mcc001");
            domain.telescope_uri(&uri, |_| true).unwrap();
        }
        assert!(domain.original_uri(&through).is_some());
    }

    #[test]
    fn nothing_has_two_labels() {
        let domain = domain();
        for label in [
            "nrf",
            "nrf-n00100",
            "nrf-n001001-p443",
            "nrf-n001001-p080-h",
            "nrf-n001001-p99999",
            "nrf-x001001",
            "nrf-n001001-",
            "nrf-n00a001",
            "nrf-n001001-h-p80",
            "a.nrf-n001001",
            "-n001001",
            "-",
        ] {
            let name = format!("{label}.{}", domain.domain());
            assert_eq!(domain.original(&name), None, "{label}");
        }
        assert_eq!(domain.original("nrf-n001001.sepp.example.org"), None);
        assert_eq!(domain.original("n"), None);
    }
}
