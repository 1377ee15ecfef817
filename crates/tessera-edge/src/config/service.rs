//! What a service is, where it runs, and who may use it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tessera_proxy::address::DialAddress;
use tessera_proxy::config::de;

/// `[service.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServiceSection {
    /// The hosts that it serves; empty: all.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// The path below which it serves: `/` is everything. The longest of all services that fit is chosen.
    #[serde(default = "root")]
    pub path: String,
    /// Where it runs. Those of the lowest `rank` are used while one of them can be reached.
    pub instances: Vec<InstanceSection>,
    /// The methods that clients may use; empty: all but CONNECT and TRACE.
    #[serde(default)]
    pub methods: Vec<String>,
    /// The names of clients that it admits, as certificates have them; empty: all.
    #[serde(default)]
    pub admit: Vec<String>,
    /// The roots for the instances' certificates, PEM; without it, they are reached without TLS.
    #[serde(default, deserialize_with = "de::some_path")]
    pub ca: Option<PathBuf>,
    /// The name in their certificates. Default: the host of each address.
    pub server_name: Option<String>,
    /// Whether instances without TLS speak HTTP/2 from the start.
    #[serde(default)]
    pub http2: bool,
    /// The path below which an instance exports and imports clients' state; without it, the service has none.
    pub state: Option<String>,
    /// Whether a request that may have been executed may be executed again.
    #[serde(default)]
    pub repeatable: bool,
    /// How long connecting to an instance may take.
    #[serde(default = "three_seconds", deserialize_with = "de::duration")]
    pub connect: Duration,
}

/// An instance: its address, or `{ address, rank, weight }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceSection {
    /// Its address.
    pub address: DialAddress,
    /// Instances of the lowest rank come first: this edge's own, then those of others.
    pub rank: u16,
    /// Its share among those of its rank.
    pub weight: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InstanceTable {
    address: DialAddress,
    #[serde(default)]
    rank: u16,
    #[serde(default = "one")]
    weight: u16,
}

/// An untagged enum would hide what is wrong in a table.
impl<'de> Deserialize<'de> for InstanceSection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AddressOrTable)
    }
}

struct AddressOrTable;

impl<'de> Visitor<'de> for AddressOrTable {
    type Value = InstanceSection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address in quotes, or a table { address, rank, weight }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<InstanceSection, E> {
        let address = DialAddress::deserialize(StrDeserializer::<E>::new(text))?;
        Ok(InstanceSection { address, rank: 0, weight: 1 })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<InstanceSection, A::Error> {
        let table = InstanceTable::deserialize(MapAccessDeserializer::new(map))?;
        let InstanceTable { address, rank, weight } = table;
        Ok(InstanceSection { address, rank, weight })
    }
}

fn root() -> String {
    "/".to_owned()
}

fn one() -> u16 {
    1
}

fn three_seconds() -> Duration {
    Duration::from_secs(3)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::config::Document;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct OneService {
        service: ServiceSection,
    }

    #[test]
    fn an_instance_that_is_wrong_is_named_with_what_to_write() {
        let parse = |instances: &str| {
            let text = format!("[service]\ninstances = [{instances}]\n");
            Document::from_text(Path::new("/e.toml"), text).parse::<OneService>()
        };
        let good = parse("\"a:1\", { address = \"b:1\", rank = 1 }").unwrap().service.instances;
        assert_eq!(
            good.iter().map(|it| (it.rank, it.weight)).collect::<Vec<_>>(),
            [(0, 1), (1, 1)]
        );
        for (instances, what) in [
            ("5", "an address in quotes, or a table { address, rank, weight }, not `5`"),
            ("{ address = \"a:1\", wieght = 2 }", "did you mean `weight`?"),
            ("{ rank = 1 }", "the key `address` is missing"),
            ("{ address = \"a:1\", rank = -1 }", "a whole number from 0 to 65535"),
            ("{ address = \"nonsense\" }", "nonsense"),
            ("\"nonsense\"", "nonsense"),
        ] {
            let error = parse(instances).unwrap_err().to_string();
            assert!(error.starts_with("/e.toml:2: ") && error.contains(what), "{error}");
            assert!(!error.contains("variant"), "{error}");
        }
    }
}
