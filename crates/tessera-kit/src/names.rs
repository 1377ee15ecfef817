//! Groups and suites by their registered names.

use std::fmt::Debug;

use tessera::crypto::Provider;
use tessera::wire::{CipherSuite, NamedGroup};

/// Returns a provider that has these groups; without groups, the one that omits rare ones.
#[must_use]
pub fn provider(groups: &[NamedGroup]) -> Provider {
    match groups {
        [] => tessera_aws_lc::provider(),
        _ => tessera_aws_lc::provider_with_rare_groups(),
    }
}

/// Lists the groups, for the help of an option.
#[must_use]
pub fn groups_in_words() -> String {
    let names = |provider: Provider| -> Vec<String> {
        provider.groups.iter().map(|group| format!("{:?}", group.group())).collect()
    };
    let default = names(tessera_aws_lc::provider());
    let mut rare = names(tessera_aws_lc::provider_with_rare_groups());
    rare.retain(|name| !default.contains(name));
    format!(
        "The groups, in order of preference, separated by commas. By default {}; {} only if named",
        default.join(", "),
        rare.join(", ")
    )
}

/// Lists the suites, for the help of an option.
#[must_use]
pub fn suites_in_words() -> String {
    let suites = tessera_aws_lc::provider().suites;
    let names: Vec<_> = suites.iter().map(|suite| format!("{:?}", suite.id)).collect();
    format!(
        "The cipher suites, in order of preference, separated by commas. By default {}",
        names.join(", ")
    )
}

/// Finds a group by its registered name or a common one (`p256`).
///
/// # Errors
/// Returns an error that lists all names, if there is no such group.
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

/// Finds a suite by its name.
///
/// # Errors
/// Returns an error that lists all names, if there is no such suite.
pub fn suite(name: &str) -> Result<CipherSuite, String> {
    let provider = tessera_aws_lc::provider();
    let suites: Vec<_> = provider.suites.iter().map(|suite| suite.id).collect();
    find(name, &suites)
}

fn find<T: Copy + Debug>(name: &str, known: &[T]) -> Result<T, String> {
    let wanted = |it: &&T| format!("{it:?}").eq_ignore_ascii_case(name);
    known.iter().find(wanted).copied().ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|it| format!("{it:?}")).collect();
        format!("unknown; the names are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_group_and_whether_it_is_a_default() {
        let help = groups_in_words();
        let (default, rare) = help.split_once(';').unwrap();
        for group in tessera_aws_lc::provider_with_rare_groups().groups {
            let name = format!("{:?}", group.group());
            assert_eq!(super::group(&name), Ok(group.group()));
            let mut common = tessera_aws_lc::provider().groups.iter();
            let is_default = common.any(|it| it.group() == group.group());
            let part = if is_default { default } else { rare };
            let mut words = part.split(|c: char| !c.is_ascii_alphanumeric());
            assert!(words.any(|word| word == name), "{name}: {help}");
        }
        assert!(default.contains("X25519MLKEM768") && rare.contains("SECP521R1"), "{help}");
    }

    #[test]
    fn groups_and_suites_are_parsed_by_registered_and_common_names() {
        assert_eq!(group("x25519"), Ok(NamedGroup::X25519));
        assert_eq!(group("P-256"), Ok(NamedGroup::SECP256R1));
        assert_eq!(suite("TLS_AES_256_GCM_SHA384"), Ok(CipherSuite::TLS_AES_256_GCM_SHA384));
        assert_eq!(group("p521"), Ok(NamedGroup::SECP521R1));
        assert!(group("secp224r1").unwrap_err().contains("X25519MLKEM768"));
    }
}
