//! Keys that have no successor.

use tessera_kit::ProgramError;
use tessera_kit::clock::unix;
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};
use zeroize::Zeroizing;

/// Returns wrapping keys of one key, which `setting` names, for one purpose. There is no other, so its id carries no information.
///
/// # Errors
/// If it is no key.
pub fn one_wrapping_key(
    setting: &str,
    purpose: WrappingPurpose,
    id: [u8; 16],
    key: &[u8; 32],
) -> Result<WrappingKeys, ProgramError> {
    let keys = WrappingKeys::new(&tessera_aws_lc::provider(), purpose);
    let added = keys.add(EpochKey::forever(id, Zeroizing::new(*key)), unix());
    added.map_err(|error| ProgramError::settings(format!("{setting}: {error}")))?;
    Ok(keys)
}
