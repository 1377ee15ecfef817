//! What each step does.

use super::{Action, Carry, FlightCopy, HOME, Moving, Site, Slip, State, Verdict};

/// What a site that is asked knows of the key.
enum Fate {
    Ended(Verdict),
    /// It left.
    Moved(Carry),
}

impl Moving {
    pub(super) fn step(&self, state: &mut State, action: Action) {
        match action {
            Action::Send => state.flight = Some(state.sites.map(|site| site.life)),
            Action::Arrive { copy, site } => self.arrive(state, copy, site),
            Action::GiveUp(copy) => {
                let FlightCopy::WaitsAt(at) = state.copies[copy] else { return };
                state.copies[copy] = FlightCopy::Asks { at, of: HOME, after: None };
            }
            Action::Answer(copy) => self.answer(state, copy),
            Action::NoAnswer(copy) => state.copies[copy] = FlightCopy::Done(Verdict::Unknown),
            Action::Depart { site, life } => self.depart(state, site, life),
            Action::SendAgain(site) => {
                let Some(carry) = state.sites[site].gone else { return };
                let life = state.sites[carry.to].life;
                state.sent.insert(Carry { life, ..carry });
            }
            Action::Deliver(carry) => self.deliver(state, carry),
            Action::Crash(number) => {
                let Site { life, last_departure, .. } = state.sites[number];
                state.sites[number] = Site { life: life + 1, last_departure, ..Site::default() };
                // The connections of its clients break.
                for copy in &mut state.copies {
                    if matches!(copy, FlightCopy::WaitsAt(at) | FlightCopy::Asks { at, .. } if *at == number)
                    {
                        *copy = FlightCopy::Done(Verdict::Unknown);
                    }
                }
            }
            Action::Forget(site) => {
                let Site { arrived, refuses, life, last_departure, .. } = state.sites[site];
                let fresh = Site { life, last_departure, ..Site::default() };
                // What was refused or has arrived is remembered for as long as a message or a question may come: questions
                // take seconds, and it is remembered for a lifetime after the key expired.
                let is_asked = |copy: &FlightCopy| matches!(copy, FlightCopy::Asks { .. });
                state.sites[site] = match state.expired && !state.copies.iter().any(is_asked) {
                    true => fresh,
                    false => Site { arrived, refuses, ..fresh },
                };
            }
            Action::Expire => {
                state.expired = true;
                for site in &mut state.sites {
                    site.holds = None;
                }
            }
        }
    }

    /// A flight arrives: the key is here, or it is known what became of it, or it may come yet.
    fn arrive(&self, state: &mut State, copy: usize, number: usize) {
        let site = &state.sites[number];
        state.copies[copy] = if site.holds.is_some() {
            self.accept(state, number)
        } else if site.used {
            FlightCopy::Done(Verdict::Used)
        } else if site.burned {
            FlightCopy::Done(Verdict::Burned)
        } else if let Some(carry) = site.gone.filter(|_| self.answers_where(state)) {
            match self.slip {
                Slip::MovedIsBurned => FlightCopy::Done(Verdict::Burned),
                _ => FlightCopy::Asks { at: number, of: carry.to, after: Some(carry) },
            }
        } else if number == HOME {
            match self.fate(state, HOME, None) {
                Fate::Ended(verdict) => FlightCopy::Done(verdict),
                Fate::Moved(_) => FlightCopy::Done(Verdict::Unknown),
            }
        } else {
            FlightCopy::WaitsAt(number)
        };
    }

    /// Whether sites answer where the key went.
    fn answers_where(&self, state: &State) -> bool {
        !state.expired || self.slip == Slip::AnswersAfterExpiry
    }

    fn accept(&self, state: &mut State, number: usize) -> FlightCopy {
        let site = &mut state.sites[number];
        (site.holds, site.used) = (None, true);
        state.accepted = (state.accepted + 1).min(2);
        state.accepted_away |= number != HOME;
        FlightCopy::Done(Verdict::Accepted)
    }

    /// The key leaves, in one step.
    fn depart(&self, state: &mut State, number: usize, life: u8) {
        let site = &mut state.sites[number];
        let Some(moves) = site.holds else { return };
        let carry = Carry { to: 1 - number, life, moves: moves + 1 };
        if self.slip != Slip::KeepsACopy {
            site.holds = None;
        }
        (site.gone, site.last_departure) = (Some(carry), Some(site.life));
        state.sent.insert(carry);
    }

    /// The key arrives, if it is for this life, was not here before, and no flight was refused for its lack.
    fn deliver(&self, state: &mut State, carry: Carry) {
        let site = &mut state.sites[carry.to];
        let is_late = carry.life != site.life && self.slip != Slip::TakesForAnotherLife;
        let was_here = carry.moves <= site.arrived && self.slip != Slip::TakesAgain;
        let is_refused = site.refuses && self.slip != Slip::TakesAfterRefusal;
        if is_late || was_here || is_refused || site.holds.is_some() || state.expired {
            return;
        }
        site.arrived = site.arrived.max(carry.moves);
        site.holds = Some(carry.moves);
        // It is here again.
        site.gone = None;
        for copy in 0..state.copies.len() {
            if state.copies[copy] == FlightCopy::WaitsAt(carry.to)
                && state.sites[carry.to].holds.is_some()
            {
                state.copies[copy] = self.accept(state, carry.to);
            }
        }
    }

    /// The site that is asked burns the key if it has it, and answers.
    fn answer(&self, state: &mut State, copy: usize) {
        let FlightCopy::Asks { at, of, after } = state.copies[copy] else { return };
        let fate = match self.fate(state, of, after) {
            // To the site that asks: it knows the rest itself.
            Fate::Moved(carry) if carry.to == at && self.slip != Slip::MovedIsBurned => {
                self.fate(state, at, Some(carry))
            }
            Fate::Moved(_) if self.slip == Slip::MovedIsBurned => Fate::Ended(Verdict::Burned),
            fate => fate,
        };
        state.copies[copy] = match fate {
            Fate::Ended(verdict) => FlightCopy::Done(verdict),
            Fate::Moved(carry) => FlightCopy::Asks { at, of: carry.to, after: Some(carry) },
        };
    }

    /// Makes sure that a site doesn't accept the flight any more, and returns what it knows of it. `after` is the move that
    /// led to it; none: it is the home, and the ticket names its first life.
    fn fate(&self, state: &mut State, number: usize, after: Option<Carry>) -> Fate {
        let answers_where = self.answers_where(state);
        let site = &mut state.sites[number];
        let life = after.map_or(0, |carry| carry.life);
        if life < site.life {
            let may_have_left = site.last_departure.is_some_and(|last| life <= last);
            let is_known = !may_have_left || self.slip == Slip::LostAfterMoves;
            return Fate::Ended(match is_known {
                true => Verdict::Lost { site: number, life },
                false => Verdict::Unknown,
            });
        }
        if site.holds.take().is_some() {
            site.burned = true;
        }
        if site.used {
            return Fate::Ended(Verdict::Used);
        }
        if site.burned {
            return Fate::Ended(Verdict::Burned);
        }
        // Unless it is coming back, by the move that the question is about.
        let is_later = |carry: &Carry| after.is_none_or(|after| carry.moves > after.moves);
        if let Some(carry) = site.gone.filter(|carry| answers_where && is_later(carry)) {
            return Fate::Moved(carry);
        }
        // On its way here, or forgotten.
        let never_arrived = after.is_some_and(|carry| site.arrived < carry.moves);
        if never_arrived && self.slip != Slip::AskedIsNotRefused {
            site.refuses = true;
        }
        let is_burned = never_arrived || self.slip == Slip::ForgottenIsBurned;
        Fate::Ended(if is_burned { Verdict::Burned } else { Verdict::Unknown })
    }
}
