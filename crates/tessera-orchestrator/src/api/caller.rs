//! Who calls, and what they may do.

use tessera::auth::PeerIdentity;

/// The operators that may change something; none: all that have a certificate.
#[derive(Debug, Clone)]
pub(crate) struct Operators(Option<Vec<String>>);

/// A caller whose certificate was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The names in its certificate, for logs.
    pub(crate) name: String,
    /// Whether it may change something.
    pub(crate) may_change: bool,
}

impl Operators {
    pub(crate) fn new(names: Option<&[String]>) -> Self {
        Self(names.map(|names| names.iter().map(|name| comparable(name)).collect()))
    }

    /// Returns the caller of a connection. An identity is the list that `tessera_webpki` makes of the names in a certificate,
    /// or a subject, which names no one.
    pub(crate) fn caller(&self, identity: Option<&PeerIdentity>) -> Caller {
        let blob = identity.map(|identity| &identity.blob[..]).unwrap_or_default();
        let is_list = blob.starts_with(b"dns:") || blob.starts_with(b"uri:");
        let text = str::from_utf8(blob).ok().filter(|_| is_list).unwrap_or_default();
        let mut names = text.split(' ').filter_map(|name| {
            name.strip_prefix("dns:").or_else(|| name.strip_prefix("uri:")).map(comparable)
        });
        let may_change = match &self.0 {
            None => true,
            Some(allowed) => names.any(|name| allowed.contains(&name)),
        };
        Caller { name: blob.escape_ascii().to_string(), may_change }
    }
}

/// DNS names are compared without regard to case (RFC 4343); a URI has a scheme.
fn comparable(name: &str) -> String {
    if name.contains(':') { name.to_owned() } else { name.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_known_by_names_and_not_by_what_looks_like_one() {
        let operators = Operators::new(Some(&["Ops.Example".into(), "spiffe://x/Ops".into()]));
        let may = |blob: &[u8]| {
            let identity = PeerIdentity { blob: blob.to_vec(), expires_at: None };
            operators.caller(Some(&identity)).may_change
        };
        assert!(may(b"dns:ops.example"));
        assert!(may(b"dns:a.example dns:ops.example"));
        assert!(may(b"dns:a.example uri:spiffe://x/Ops"));
        assert!(!may(b"uri:spiffe://x/ops"));
        assert!(!may(b"dns:a.example"));
        assert!(!may(b"subject:x dns:ops.example"));
        assert!(!may(b""));
        assert!(!operators.caller(None).may_change);
        assert!(Operators::new(None).caller(None).may_change);
    }
}
