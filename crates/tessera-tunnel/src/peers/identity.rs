//! Identities of peers, for comparison and for people.

/// One name in an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named<'a> {
    /// A DNS name, in lower case.
    Dns(&'a str),
    /// A URI.
    Uri(&'a str),
}

/// The names that an identity as of `tessera_webpki` lists.
pub(super) fn listed(blob: &[u8]) -> impl Iterator<Item = Named<'_>> {
    // What begins otherwise is no list: a subject may hold any bytes.
    let is_list = blob.starts_with(b"dns:") || blob.starts_with(b"uri:");
    let text = std::str::from_utf8(blob).ok().filter(|_| is_list).unwrap_or_default();
    text.split(' ').filter_map(|name| {
        let dns = name.strip_prefix("dns:").map(Named::Dns);
        dns.or_else(|| name.strip_prefix("uri:").map(Named::Uri))
    })
}

/// An identity as people read it. Whatever is not printable ASCII is written as `\xHH`: no peer writes what it likes
/// into a terminal or a log.
#[must_use]
pub fn identity(blob: &[u8]) -> String {
    blob.escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_that_looks_like_a_list_names_nobody() {
        let all = |blob: &'static [u8]| listed(blob).collect::<Vec<_>>();
        assert_eq!(
            all(b"dns:a.example uri:spiffe://x/y"),
            [Named::Dns("a.example"), Named::Uri("spiffe://x/y")]
        );
        assert_eq!(all(b"subject:\x0c\x09 dns:admin.example"), []);
        assert_eq!(all(b"sha256:00 dns:admin.example"), []);
    }

    #[test]
    fn an_identity_writes_no_control_characters() {
        assert_eq!(identity(b"subject:\x1b[2J\n"), "subject:\\x1b[2J\\n");
    }
}
