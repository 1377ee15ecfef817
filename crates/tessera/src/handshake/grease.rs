//! Whether a message has GREASE values (RFC 8701), and which.

use crate::crypto::{Random, RandomFailed};
use crate::wire::Grease;

/// Draws values for one message, if wanted.
pub(super) fn draw_grease(
    wanted: bool,
    random: &dyn Random,
) -> Result<Option<Grease>, RandomFailed> {
    if !wanted {
        return Ok(None);
    }
    let mut drawn = [0; Grease::LEN];
    random.fill(&mut drawn)?;
    Ok(Grease::new(drawn))
}
