//! What can't be checked by types in either side's configuration.

use alloc::vec::Vec;

use crate::crypto::Provider;
use crate::error::Error;
use crate::limits::MAX_RECORD_SIZE_LIMIT;
use crate::wire::{CipherSuite, NamedGroup};

/// The checks that both sides' configurations have in common.
pub(crate) fn check_common(
    provider: &Provider,
    suites: &[CipherSuite],
    groups: &[NamedGroup],
    protocols: &[Vec<u8>],
    record_size_limit: Option<u16>,
) -> Result<(), Error> {
    if !suites.iter().any(|suite| provider.suite(*suite).is_some()) {
        return Err(Error::Configuration("suites: name at least one that the provider has"));
    }
    if !groups.iter().any(|group| provider.group(*group).is_some()) {
        return Err(Error::Configuration("groups: name at least one that the provider has"));
    }
    let bytes: usize = protocols.iter().map(|protocol| 1 + protocol.len()).sum();
    if bytes > 4096 || protocols.iter().any(|protocol| protocol.is_empty() || protocol.len() > 255)
    {
        return Err(Error::Configuration("protocols: 1 to 255 bytes each, 4,096 in all"));
    }
    // RFC 8449 §4.
    if record_size_limit.is_some_and(|limit| !(64..=MAX_RECORD_SIZE_LIMIT).contains(&limit)) {
        return Err(Error::Configuration("record_size_limit: 64 to 16,385 bytes"));
    }
    Ok(())
}
