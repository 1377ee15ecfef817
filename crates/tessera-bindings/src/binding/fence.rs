//! What the instances of services compare, so that nothing of an earlier owner takes effect after a later one's.

use std::fmt;

use super::{Binding, BindingState, Generation};

/// A number that an instance of a service compares for each client: it refuses what has a lower one than it has seen. In the
/// move of generation `g`, from one owner to the next:
///
/// | who | what | fence |
/// |---|---|---|
/// | the earlier owner | requests, and the first export | that of its own generation: at most 4 (g - 1) + 3 |
/// | the next one | the first import | 4 (g - 1) + 2 |
/// | the earlier owner | the last export, once its requests have ended | 4 g + 1 |
/// | the next one | the last import | 4 g + 1 |
/// | the next one | requests | 4 g + 3 |
/// | if the next one is dead by then: another proxy, before it takes the client over | has its instances forget the client | 4 g + 2 |
///
/// The first import is below the earlier owner's requests: an instance that serves both refuses to go back to what it exported.
/// In the same way an instance forgets nothing of a client that it served for the dead owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

impl Fence {
    /// Returns that of the first import in the move of this generation.
    #[must_use]
    pub const fn of_first_import(generation: Generation) -> Self {
        Self::new(Generation(generation.0.saturating_sub(1)), 2)
    }

    /// Returns that of the last export, and of the last import, in the move of this generation.
    #[must_use]
    pub const fn of_last_changes(generation: Generation) -> Self {
        Self::new(generation, 1)
    }

    const fn new(generation: Generation, step: u64) -> Self {
        Self(generation.0.saturating_mul(4).saturating_add(step))
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Binding {
    /// Returns the fence of its owner's requests.
    #[must_use]
    pub fn fence(&self) -> Fence {
        let own = match &self.state {
            BindingState::Stable { .. } | BindingState::Switched { .. } => self.generation.0,
            // The generation is that of the next owner.
            BindingState::Preparing { .. } | BindingState::Announced { .. } => {
                self.generation.0.saturating_sub(1)
            }
        };
        Fence::new(Generation(own), 3)
    }

    /// Returns the fence with which an instance forgets what it has of the client from before its owner began to own it: the
    /// owner is dead, with the state, and another proxy is about to take the client over.
    #[must_use]
    pub fn fence_of_forgetting(&self) -> Fence {
        Fence::new(self.owned_in, 2)
    }
}
