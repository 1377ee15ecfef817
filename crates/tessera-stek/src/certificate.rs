//! What servers of a pool must have in common in their certificates.

use tessera_kit::hex;
use tessera_webpki::{dns_names, dns_names_in_order, issuers};

/// Whether servers whose certificates have the same names in another order resume each other's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameOrder {
    /// They do.
    Ignored,
    /// They don't: Envoy hashes the names in their order.
    Matters,
}

/// Returns the DNS names of a certificate (DER), and its issuer's name as hexadecimal DER; `None` if it can't be read or
/// has no DNS names.
pub(crate) fn names_and_issuer(leaf: &[u8], order: NameOrder) -> Option<(String, String)> {
    let names = match order {
        NameOrder::Ignored => dns_names(leaf),
        NameOrder::Matters => dns_names_in_order(leaf),
    };
    let names = names.ok().filter(|names| !names.is_empty())?;
    let issuer = issuers(&[leaf]).ok()?.pop()?;
    Some((names.join(" "), hex::encode(&issuer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_names_is_compared_where_it_matters() {
        let authority = tessera_pki::Authority::new("Test CA");
        let leaf = |names: &[&str]| authority.issue_with(names, |_| ()).der();
        let (one, other) = (leaf(&["b.example", "a.example"]), leaf(&["a.example", "b.example"]));
        let names = |leaf: &[u8], order| names_and_issuer(leaf, order).unwrap().0;
        assert_eq!(names(&one, NameOrder::Ignored), names(&other, NameOrder::Ignored));
        assert_eq!(names(&one, NameOrder::Matters), "b.example a.example");
        assert_eq!(names(&other, NameOrder::Matters), "a.example b.example");
    }
}
