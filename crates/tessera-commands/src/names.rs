//! Groups and suites by the names of their registries.

use std::fmt::Debug;

use tessera::crypto::Provider;
use tessera::wire::{CipherSuite, NamedGroup};

/// The provider for these groups, which are all common ones if nothing was said.
pub(crate) fn provider(groups: &[NamedGroup]) -> Provider {
    match groups {
        [] => tessera_aws_lc::provider(),
        _ => tessera_aws_lc::provider_with_rare_groups(),
    }
}

/// The group of this name.
pub fn group(name: &str) -> Result<NamedGroup, String> {
    let provider = tessera_aws_lc::provider_with_rare_groups();
    let groups: Vec<_> = provider.groups.iter().map(|group| group.group()).collect();
    let name = match name.to_ascii_lowercase().as_str() {
        "p256" | "p-256" => "secp256r1".to_owned(),
        "p384" | "p-384" => "secp384r1".to_owned(),
        "p521" | "p-521" => "secp521r1".to_owned(),
        other => other.to_owned(),
    };
    find(&name, &groups)
}

/// The suite of this name.
pub fn suite(name: &str) -> Result<CipherSuite, String> {
    let provider = tessera_aws_lc::provider();
    let suites: Vec<_> = provider.suites.iter().map(|suite| suite.id).collect();
    find(name, &suites)
}

fn find<T: Copy + Debug>(name: &str, known: &[T]) -> Result<T, String> {
    let wanted = |it: &&T| format!("{it:?}").eq_ignore_ascii_case(name);
    known.iter().find(wanted).copied().ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|it| format!("{it:?}")).collect();
        format!("not known; there are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_suites_are_parsed_by_registered_and_common_names() {
        assert_eq!(group("x25519"), Ok(NamedGroup::X25519));
        assert_eq!(group("P-256"), Ok(NamedGroup::SECP256R1));
        assert_eq!(suite("TLS_AES_256_GCM_SHA384"), Ok(CipherSuite::TLS_AES_256_GCM_SHA384));
        assert_eq!(group("p521"), Ok(NamedGroup::SECP521R1));
        assert!(group("secp224r1").unwrap_err().contains("X25519MLKEM768"));
    }
}
