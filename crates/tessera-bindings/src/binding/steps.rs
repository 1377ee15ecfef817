//! The steps of a move, in their order; then those when something fails.

use std::time::Duration;

use super::{
    Binding, BindingState, FailureCause, Generation, Import, LaterChanges, MoveFailure, MoveTimes,
    ProxyName, StepRefused,
};

impl Binding {
    /// The orchestrator begins a move to `next`.
    ///
    /// # Errors
    /// If another move is in progress, or the client has just moved.
    pub fn begin(
        &self,
        next: &ProxyName,
        times: &MoveTimes,
        now: Duration,
    ) -> Result<Self, StepRefused> {
        match &self.state {
            BindingState::Preparing { next: current, .. }
            | BindingState::Announced { next: current, .. } => match current == next {
                true => Ok(self.clone()),
                false => Err(StepRefused::Moving(current.clone())),
            },
            BindingState::Switched { owner, .. } | BindingState::Stable { owner }
                if owner == next =>
            {
                Ok(self.clone())
            }
            // The earlier proxy still forwards: a client must not need two hops.
            BindingState::Switched { owner, .. } => Err(StepRefused::NotSettled(owner.clone())),
            BindingState::Stable { owner } => {
                let earliest = self.owned_since.saturating_add(times.dwell);
                // In its first generation the client hasn't moved yet.
                if self.generation != Generation::first(self.owned_since) && now < earliest {
                    return Err(StepRefused::TooSoon(earliest.saturating_sub(now)));
                }
                Ok(Self {
                    generation: Generation(self.generation.0.saturating_add(1)),
                    failure: None,
                    state: BindingState::Preparing {
                        owner: owner.clone(),
                        next: next.clone(),
                        import: None,
                        deadline: now.saturating_add(times.prepare),
                    },
                    ..self.clone()
                })
            }
        }
    }

    /// Whether its owner may unbind the client.
    ///
    /// # Errors
    /// If `by` doesn't own it in this generation, or it is moving.
    pub fn may_release(&self, generation: Generation, by: &ProxyName) -> Result<(), StepRefused> {
        self.check(generation)?;
        match &self.state {
            BindingState::Stable { owner } if owner == by => Ok(()),
            BindingState::Stable { .. } => {
                Err(StepRefused::OutOfOrder("another proxy owns the client"))
            }
            _ => Err(StepRefused::OutOfOrder("the client is moving")),
        }
    }

    /// Whether the client may be unbound since its owner is dead. That it is, and for how long, is for the caller to know.
    ///
    /// # Errors
    /// If it is owned by another proxy in this generation, or a move of it isn't over.
    pub fn may_abandon(
        &self,
        generation: Generation,
        owner: &ProxyName,
        now: Duration,
    ) -> Result<(), StepRefused> {
        self.check(generation)?;
        if self.owner() != owner {
            return Err(StepRefused::OutOfOrder("another proxy owns the client"));
        }
        match self.due() {
            Some(due) if now < due => Err(StepRefused::TooSoon(due.saturating_sub(now))),
            _ => Ok(()),
        }
    }

    /// The next proxy has imported the client's state.
    ///
    /// # Errors
    /// If it has an older version than the owner wrote, or isn't the next proxy of this generation.
    pub fn prepared(
        &self,
        generation: Generation,
        by: &ProxyName,
        import: Import,
    ) -> Result<Self, StepRefused> {
        self.check(generation)?;
        match &self.state {
            BindingState::Preparing { owner, next, deadline, .. } if next == by => {
                if import.version < self.version {
                    return Err(StepRefused::OldVersion(self.version));
                }
                let (owner, next, deadline) = (owner.clone(), next.clone(), *deadline);
                // The owner exported that version.
                let version = import.version;
                let state = BindingState::Preparing { owner, next, import: Some(import), deadline };
                Ok(Self { version, ..self.with(state) })
            }
            BindingState::Announced { next, .. } if next == by => Ok(self.clone()),
            _ => Err(StepRefused::OutOfOrder("the client isn't moving to this proxy")),
        }
    }

    /// The orchestrator lets the owner announce the next proxy.
    ///
    /// # Errors
    /// If the next proxy hasn't prepared.
    pub fn announce(
        &self,
        generation: Generation,
        times: &MoveTimes,
        now: Duration,
    ) -> Result<Self, StepRefused> {
        self.check(generation)?;
        match &self.state {
            BindingState::Preparing { owner, next, import: Some(import), .. } => {
                let (owner, next, import) = (owner.clone(), next.clone(), import.clone());
                let deadline = now.saturating_add(times.announce);
                Ok(self.with(BindingState::Announced { owner, next, import, deadline }))
            }
            BindingState::Announced { .. } => Ok(self.clone()),
            BindingState::Preparing { .. } => {
                Err(StepRefused::OutOfOrder("the next proxy hasn't imported the client's state"))
            }
            _ => Err(StepRefused::OutOfOrder("no move is in progress")),
        }
    }

    /// The client's first request has arrived at the next proxy, which owns the client from now on.
    ///
    /// # Errors
    /// If the proxy wasn't announced in this generation.
    pub fn switch(
        &self,
        generation: Generation,
        by: &ProxyName,
        times: &MoveTimes,
        now: Duration,
    ) -> Result<Self, StepRefused> {
        self.check(generation)?;
        match &self.state {
            BindingState::Announced { owner, next, import, .. } if next == by => {
                // The owner may have changed the state after the import.
                let changes = match import.keeps_state() {
                    false => LaterChanges::Arrived,
                    true => LaterChanges::Awaited,
                };
                Ok(self.owned_by(next, owner, changes, times, now))
            }
            BindingState::Switched { owner, .. } if owner == by => Ok(self.clone()),
            _ => Err(StepRefused::OutOfOrder("this proxy isn't announced to the client")),
        }
    }

    /// The owner is dead, and the next proxy, which has prepared, owns the client from now on. That the owner is dead is for
    /// the caller to know, by its lease.
    ///
    /// # Errors
    /// If the proxy hasn't prepared in this generation.
    pub fn promote(
        &self,
        generation: Generation,
        by: &ProxyName,
        times: &MoveTimes,
        now: Duration,
    ) -> Result<Self, StepRefused> {
        self.check(generation)?;
        match &self.state {
            BindingState::Preparing { owner, next, import: Some(import), .. }
            | BindingState::Announced { owner, next, import, .. }
                if next == by =>
            {
                // What it changed after the import died with it.
                let changes = match import.keeps_state() {
                    false => LaterChanges::Arrived,
                    true => LaterChanges::Lost,
                };
                Ok(self.owned_by(next, owner, changes, times, now))
            }
            BindingState::Switched { owner, .. } if owner == by => Ok(self.clone()),
            _ => Err(StepRefused::OutOfOrder("this proxy hasn't prepared for the client")),
        }
    }

    /// The new owner has the changes that it waited for, or has given up on them.
    ///
    /// # Errors
    /// If the proxy doesn't own the client since a switch of this generation.
    pub fn changes(
        &self,
        generation: Generation,
        by: &ProxyName,
        result: LaterChanges,
    ) -> Result<Self, StepRefused> {
        self.check(generation)?;
        match &self.state {
            BindingState::Switched { owner, earlier, changes, until } if owner == by => {
                // A result is final.
                let changes = match changes {
                    LaterChanges::Awaited => result,
                    LaterChanges::Arrived | LaterChanges::Lost => *changes,
                };
                let (owner, earlier, until) = (owner.clone(), earlier.clone(), *until);
                Ok(self.with(BindingState::Switched { owner, earlier, changes, until }))
            }
            _ => Err(StepRefused::OutOfOrder("the client hasn't switched to this proxy")),
        }
    }

    /// The owner is dead, and no proxy has prepared: another one owns the client from now on, with the state that was written
    /// last, if it has that. That the owner is dead is for the caller to know, by its lease.
    ///
    /// # Errors
    /// If the binding is of another generation.
    pub fn adopt(
        &self,
        generation: Generation,
        by: &ProxyName,
        now: Duration,
    ) -> Result<Self, StepRefused> {
        // The step itself begins a generation: repeated, it names the one before.
        let is_repeated = generation.0.checked_add(1) == Some(self.generation.0)
            && matches!(&self.state, BindingState::Stable { owner } if owner == by);
        if is_repeated {
            return Ok(self.clone());
        }
        self.check(generation)?;
        if self.owner() == by {
            return Ok(self.clone());
        }
        let generation = Generation(generation.0.saturating_add(1));
        Ok(Self {
            generation,
            owned_since: now,
            owned_in: generation,
            failure: None,
            state: BindingState::Stable { owner: by.clone() },
            ..self.clone()
        })
    }

    /// The next proxy can't prepare, so the move is given up: the orchestrator may choose another at once. Of `why`, 200
    /// characters are kept.
    ///
    /// # Errors
    /// If the proxy isn't preparing in this generation.
    pub fn decline(
        &self,
        generation: Generation,
        by: &ProxyName,
        why: &str,
    ) -> Result<Self, StepRefused> {
        self.check(generation)?;
        match &self.state {
            BindingState::Preparing { owner, next, .. } if next == by => {
                let failure = Some(MoveFailure::declined(next, why));
                Ok(Self { failure, ..self.with(BindingState::Stable { owner: owner.clone() }) })
            }
            BindingState::Stable { .. }
                if self.failure.as_ref().is_some_and(|failure| {
                    failure.next == *by && failure.cause == FailureCause::Declined
                }) =>
            {
                Ok(self.clone())
            }
            _ => Err(StepRefused::OutOfOrder("this proxy isn't preparing for the client")),
        }
    }

    /// Gives the move up like [`abort`](Self::abort), once its time is over.
    ///
    /// # Errors
    /// Those of `abort`, and if the time hasn't come.
    pub(crate) fn expire(
        &self,
        generation: Generation,
        now: Duration,
    ) -> Result<Self, StepRefused> {
        self.check(generation)?;
        match self.due() {
            Some(due) if now < due => Err(StepRefused::TooSoon(due.saturating_sub(now))),
            _ => self.give_up(match &self.state {
                BindingState::Preparing { .. } => FailureCause::NotPrepared,
                _ => FailureCause::NotFollowed,
            }),
        }
    }

    /// The orchestrator gives the move up. The owner stays, in the generation of the move: what belongs to it is refused from
    /// now on.
    ///
    /// # Errors
    /// If the client has switched.
    pub fn abort(&self, generation: Generation) -> Result<Self, StepRefused> {
        self.check(generation)?;
        self.give_up(FailureCause::Aborted)
    }

    fn give_up(&self, cause: FailureCause) -> Result<Self, StepRefused> {
        match &self.state {
            BindingState::Preparing { owner, next, .. }
            | BindingState::Announced { owner, next, .. } => {
                let failure = Some(MoveFailure::new(next, cause));
                Ok(Self { failure, ..self.with(BindingState::Stable { owner: owner.clone() }) })
            }
            BindingState::Stable { .. } => Ok(self.clone()),
            BindingState::Switched { .. } => Err(StepRefused::OutOfOrder(
                "the client has moved already, so there is nothing to abort: once that move is over, it can move back",
            )),
        }
    }

    /// The orchestrator ends the move: no announcement leads to the earlier proxy any more.
    ///
    /// # Errors
    /// If that time hasn't come, or the new owner still waits for changes of the client's state.
    pub fn settle(&self, generation: Generation, now: Duration) -> Result<Self, StepRefused> {
        self.check(generation)?;
        match &self.state {
            BindingState::Switched { until, .. } if now < *until => {
                Err(StepRefused::TooSoon(until.saturating_sub(now)))
            }
            BindingState::Switched { changes: LaterChanges::Awaited, .. } => {
                Err(StepRefused::OutOfOrder("the new owner waits for changes of the state"))
            }
            BindingState::Switched { owner, .. } => {
                Ok(self.with(BindingState::Stable { owner: owner.clone() }))
            }
            BindingState::Stable { .. } => Ok(self.clone()),
            _ => Err(StepRefused::OutOfOrder("the client hasn't switched")),
        }
    }
}
