//! Crates by what they are for, so that a picture has few parts.

use std::collections::BTreeMap;

/// The groups, in the order of a bar.
pub(crate) const GROUPS: [&str; 5] = [
    "engine",
    "Tessera's other crates",
    "cryptography",
    "Rust's library",
    "the image, and literals",
];

/// Returns what each group takes.
pub(crate) fn sums(crates: &BTreeMap<String, u32>) -> [f64; GROUPS.len()] {
    let mut sums = [0.0; GROUPS.len()];
    for (name, bytes) in crates {
        sums[group(name)] += f64::from(*bytes);
    }
    sums
}

/// Returns the group of a crate: what is not known is cryptography, which has most of the dependencies.
fn group(name: &str) -> usize {
    match name {
        "tessera" => 0,
        "tessera_firmware" => 4,
        _ if name.starts_with("tessera_") => 1,
        "core" | "alloc" | "compiler_builtins" => 3,
        "client" | "other" | "cortex_m_rt" | "cortex_m_semihosting" | "linked_list_allocator" => 4,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_an_image_is_in_one_group() {
        let crates =
            ["tessera", "tessera_rustcrypto", "sha2", "p256", "core", "client", "tessera_firmware"];
        let crates =
            crates.into_iter().zip(1..).map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        assert_eq!(sums(&crates), [1.0, 2.0, 7.0, 5.0, 13.0]);
    }
}
