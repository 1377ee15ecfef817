//! The keys of the entries in the store.

use crate::binding::ProxyName;
use crate::drain::DrainScope;
use crate::error::BindingError;

/// The names below a prefix:
/// - `b/LENGTH:` and a client's name: its binding;
/// - `p/LENGTH:` and a proxy's name: the proxy is live (by a lease that it renews);
/// - `d/LENGTH:` and a proxy's name: the proxy is drained;
/// - `s/LENGTH:` and a site's name: its proxies are drained;
/// - `m/0:`: the mark, which a process writes to learn whether it hears of changes.
///
/// Because of the length, in decimal, no name begins with another: a read of one entry returns no others.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    prefix: Vec<u8>,
}

/// What names a client: an identity from its certificate, for example. 1 to 512 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientName(Vec<u8>);

/// The longest name of a client, in bytes.
const MAX_CLIENT: usize = 512;

/// The longest name of a proxy or a site, in bytes.
const MAX_PROXY: usize = 255;

/// The longest text in the value of an entry, in bytes: a name of DNS and a port, or a digest, is shorter.
const MAX_TEXT: usize = 1024;

impl ClientName {
    /// Creates a name.
    ///
    /// # Errors
    /// If it is empty, or too long.
    pub fn new(name: impl Into<Vec<u8>>) -> Result<Self, BindingError> {
        let name = name.into();
        match (1..=MAX_CLIENT).contains(&name.len()) {
            true => Ok(Self(name)),
            false => Err(BindingError::Name(format!(
                "a client's name has 1 to {MAX_CLIENT} bytes, and this one {}",
                name.len()
            ))),
        }
    }

    /// Returns its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Names {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.as_bytes().to_vec() }
    }

    pub(crate) fn all(&self) -> &[u8] {
        &self.prefix
    }

    pub(crate) fn binding(&self, client: &ClientName) -> Vec<u8> {
        self.key(b"b/", &client.0)
    }

    pub(crate) fn proxy(&self, proxy: &ProxyName) -> Result<Vec<u8>, BindingError> {
        self.named(b"p/", "proxy", &proxy.0)
    }

    pub(crate) fn drain(&self, scope: &DrainScope) -> Result<Vec<u8>, BindingError> {
        match scope {
            DrainScope::Proxy(proxy) => self.named(b"d/", "proxy", &proxy.0),
            DrainScope::Site(site) => self.named(b"s/", "site", site),
        }
    }

    pub(crate) fn mark(&self) -> Vec<u8> {
        self.key(b"m/", b"")
    }

    fn named(&self, kind: &[u8], what: &str, name: &str) -> Result<Vec<u8>, BindingError> {
        match (1..=MAX_PROXY).contains(&name.len()) {
            true => Ok(self.key(kind, name.as_bytes())),
            false => Err(BindingError::Name(format!(
                "a {what}'s name has 1 to {MAX_PROXY} bytes, and this one {}",
                name.len()
            ))),
        }
    }

    /// Checks a text in the value of an entry.
    pub(crate) fn text(&self, what: &str, text: &str) -> Result<(), BindingError> {
        match text.len() <= MAX_TEXT {
            true => Ok(()),
            false => Err(BindingError::Name(format!(
                "the {what} has {} bytes: at most {MAX_TEXT} are stored",
                text.len()
            ))),
        }
    }

    fn key(&self, kind: &[u8], name: &[u8]) -> Vec<u8> {
        [&self.prefix, kind, format!("{}:", name.len()).as_bytes(), name].concat()
    }

    /// Returns what an entry is about; `None` for anything else.
    pub(crate) fn subject(&self, key: &[u8]) -> Option<Subject> {
        let (kind, rest) = key.strip_prefix(&self.prefix[..])?.split_at_checked(2)?;
        let colon = rest.iter().position(|byte| *byte == b':')?;
        let (len, name) = (rest.get(..colon)?, rest.get(colon + 1..)?);
        if str::from_utf8(len).ok()?.parse() != Ok(name.len()) {
            return None;
        }
        let text = || String::from_utf8(name.to_vec()).ok();
        match kind {
            b"b/" => ClientName::new(name).ok().map(Subject::Client),
            b"p/" => text().map(|name| Subject::Proxy(ProxyName(name))),
            b"d/" => text().map(|name| Subject::Drain(DrainScope::Proxy(ProxyName(name)))),
            b"s/" => text().map(|name| Subject::Drain(DrainScope::Site(name))),
            b"m/" if name.is_empty() => Some(Subject::Mark),
            _ => None,
        }
    }
}

/// What an entry is about.
pub(crate) enum Subject {
    Client(ClientName),
    Proxy(ProxyName),
    Drain(DrainScope),
    Mark,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_entry_begins_with_another() {
        let names = Names::new("/pool/");
        let key = |name: &str| names.binding(&ClientName::new(name).unwrap());
        assert_eq!(key("ab"), b"/pool/b/2:ab");
        assert!(!key("abc").starts_with(&key("ab")));
        assert!(
            matches!(names.subject(&key("a:b")), Some(Subject::Client(name)) if name.0 == b"a:b")
        );
        let proxy = names.proxy(&ProxyName("a".into())).unwrap();
        assert!(matches!(names.subject(&proxy), Some(Subject::Proxy(name)) if name.0 == "a"));
        let site = DrainScope::Site("a".into());
        let drained = names.drain(&site).unwrap();
        assert!(matches!(names.subject(&drained), Some(Subject::Drain(scope)) if scope == site));
        assert!(matches!(names.subject(&names.mark()), Some(Subject::Mark)));
        for other in ["/pool/b/3:ab", "/pool/b/:", "/pool/b/2ab", "/pool/x/2:ab", "/pool/", "/poo"]
        {
            assert!(names.subject(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn names_that_are_empty_or_too_long_are_refused() {
        assert!(ClientName::new("").is_err() && ClientName::new([0; 513]).is_err());
        assert!(ClientName::new([0; 512]).is_ok());
        let names = Names::new("/pool/");
        assert!(names.proxy(&ProxyName(String::new())).is_err());
        assert!(names.proxy(&ProxyName("a".repeat(256))).is_err());
    }
}
