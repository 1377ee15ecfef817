//! Contradictions, which a check of a configuration refuses.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use tessera_kit::ProgramError;

use crate::address::ListenAddress;

/// A key, and what is wrong with it.
pub type Contradiction = Option<(&'static str, &'static str)>;

/// Returns the error `[table] key: what`.
///
/// # Errors
/// Always.
pub fn wrong<T>(table: impl Display, key: &str, what: impl Display) -> Result<T, ProgramError> {
    Err(ProgramError::settings(format!("[{table}] {key}: {what}")))
}

/// Refuses a listener at the address of an earlier one. Each has its table, its key there, and its address.
///
/// Port 0 conflicts with nothing: the system chooses another port each time.
///
/// # Errors
/// `[table] key: ` and what to do.
pub fn check_listeners<'a, T: Display>(
    listeners: impl IntoIterator<Item = (T, &'static str, &'a ListenAddress)>,
) -> Result<(), ProgramError> {
    let mut taken = BTreeMap::new();
    let listeners = listeners.into_iter().filter(|(.., address)| address.port() != Some(0));
    for (table, key, address) in listeners {
        let before = taken.insert(address.to_string(), format!("[{table}] {key}"));
        if let Some(before) = before {
            let what =
                format!("{before} is already {address}: each listener needs its own address");
            return wrong(table, key, what);
        }
    }
    Ok(())
}

/// Finds a count that is zero.
#[must_use]
pub fn find_zero_count(counts: &[(&'static str, usize)]) -> Contradiction {
    let (key, _) = counts.iter().find(|(_, count)| *count == 0)?;
    Some((key, "must be at least 1"))
}

/// Finds a time that is zero.
#[must_use]
pub fn find_zero_time(times: &[(&'static str, Duration)]) -> Contradiction {
    let (key, _) = times.iter().find(|(_, time)| time.is_zero())?;
    Some((key, "must not be zero: remove the key for the default"))
}

/// Finds a name that no certificate has: a list compares names as they are, without the kind that identities and logs write
/// before them (`dns:`, `uri:`).
#[must_use]
pub fn find_impossible_name(key: &'static str, names: &[String]) -> Contradiction {
    let what = names.iter().find_map(|name| match name.as_str() {
        "" => Some("a name is empty: remove it"),
        name if name.contains('*') => Some("names are compared as they are: list each name"),
        name if has_kind(name) => Some(WITHOUT_KIND),
        _ => None,
    })?;
    Some((key, what))
}

/// Finds a DNS name or URI that is written with its kind.
#[must_use]
pub fn find_name_with_kind(key: &'static str, names: &[String]) -> Contradiction {
    names.iter().any(|name| has_kind(name)).then_some((key, WITHOUT_KIND))
}

const WITHOUT_KIND: &str = "write names as certificates have them, without `dns:` or `uri:`";

fn has_kind(name: &str) -> bool {
    ["dns:", "uri:"]
        .iter()
        .any(|kind| name.get(..4).is_some_and(|it| it.eq_ignore_ascii_case(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_certificate_has_is_found() {
        let find = |name: &str| find_impossible_name("admit", &["a.example".into(), name.into()]);
        for name in ["b.example", "spiffe://x/dns:y", "urn:x", "dns.example", "\u{e9}\u{e9}"] {
            assert_eq!(find(name), None, "{name}");
        }
        for (name, what) in [
            ("dns:b.example", "without `dns:` or `uri:`"),
            ("DNS:b.example", "without `dns:` or `uri:`"),
            ("uri:spiffe://x/y", "without `dns:` or `uri:`"),
            ("*.example", "list each name"),
            ("", "remove it"),
        ] {
            assert!(find(name).unwrap().1.ends_with(what), "{name}");
        }
        assert_eq!(find_name_with_kind("names", &["*.example".into(), String::new()]), None);
        assert!(find_name_with_kind("names", &["dns:a.example".into()]).is_some());
    }

    #[test]
    fn two_listeners_at_one_address_are_refused_but_at_port_0() {
        let check = |address: &str| {
            let address = address.parse().unwrap();
            check_listeners([("a", "one", &address), ("b", "other", &address)])
        };
        for address in [":0", "127.0.0.1:0", "localhost:0"] {
            check(address).unwrap();
        }
        for address in [":1", "127.0.0.1:1", "localhost:1", "unix:/run/x.sock", "systemd:pg"] {
            let error = check(address).unwrap_err().to_string();
            let expected = format!("[b] other: [a] one is already {address}: ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
