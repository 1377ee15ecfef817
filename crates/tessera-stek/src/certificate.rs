//! What servers of a pool must have in common in their certificates.

use tessera_kit::hex;
use tessera_webpki::{dns_names, issuers};

/// Returns the DNS names of a certificate (DER), sorted, and its issuer's name as hexadecimal DER; `None` if it can't be read
/// or has no DNS names.
pub(crate) fn names_and_issuer(leaf: &[u8]) -> Option<(String, String)> {
    let names = dns_names(leaf).ok().filter(|names| !names.is_empty())?;
    let issuer = issuers(&[leaf]).ok()?.pop()?;
    Some((names.join(" "), hex::encode(&issuer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_another_order_are_the_same() {
        let authority = tessera_pki::Authority::new("Test CA");
        let names = |names: &[&str]| names_and_issuer(&authority.issue_with(names, |_| ()).der());
        let one = names(&["b.example", "a.example"]);
        assert_eq!(one.as_ref().map(|(names, _)| &names[..]), Some("a.example b.example"));
        assert_eq!(one, names(&["a.example", "b.example"]));
        assert_eq!(names(&[]), None);
    }
}
