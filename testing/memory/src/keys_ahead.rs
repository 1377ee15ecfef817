//! Key pairs made ahead, in a process that is attacked: what handshakes took of them must be gone.

use tessera::crypto::Provider;
use tessera_aws_lc::{FillStep, KeyCounts, KeyKind, provider_with_keys_ahead};

use crate::Error;

/// Makes what a server's handshakes take; returns the provider that has it.
pub fn of_server() -> Result<Provider, Error> {
    let mut counts = KeyCounts::of_server(COUNT);
    // Tickets have hybrid ones.
    counts.one_time_x25519 = 0;
    filled(counts)
}

/// Makes what a client's handshakes take; returns the provider that has it.
pub fn of_client() -> Result<Provider, Error> {
    filled(KeyCounts::of_client(COUNT))
}

fn filled(counts: KeyCounts) -> Result<Provider, Error> {
    let (provider, keys) = provider_with_keys_ahead();
    loop {
        match keys.fill(counts) {
            FillStep::Made => (),
            FillStep::Full => return Ok(provider),
            FillStep::Failed => return Err("AWS-LC could make no key pair".into()),
        }
    }
}

/// Fails unless handshakes have taken key pairs of each kind that was made.
pub fn check() -> Result<(), Error> {
    let (_, keys) = provider_with_keys_ahead();
    let is_unused = |kind: &&KeyKind| {
        let usage = keys.usage(**kind);
        usage.made > 0 && usage.used == 0
    };
    match KeyKind::ALL.iter().find(is_unused) {
        Some(kind) => Err(format!("no handshake took a key pair of {kind:?}").into()),
        None => Ok(()),
    }
}

/// Thirty connections use up all of them.
const COUNT: usize = 8;
