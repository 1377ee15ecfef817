//! One key that moves from its home to another site, and back, while its flight arrives at both.
//!
//! A site that sends the key away keeps none, and remembers where it went. The other site takes it once, in the life that the
//! message names. Messages are lost, late and repeated: whatever was sent may arrive at any time, any number of times. Sites
//! crash, forget, and ask each other what became of the key; an attacker sends the recorded flight to both.

mod step;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use stateright::{Model, Property};

/// A mistake that the design must avoid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip {
    /// The design.
    None,
    /// The site that sends a key away keeps it until the other has it.
    KeepsACopy,
    /// A key is taken in a later life than the one it was sent to.
    TakesForAnotherLife,
    /// A key that was here comes back by an old message.
    TakesAgain,
    /// A flight came before its key and was refused; the key is taken all the same.
    TakesAfterRefusal,
    /// A key that went to a life that has ended is sent to the next one.
    SendsAgain,
    /// What left for another site counts as burned.
    MovedIsBurned,
    /// After a crash, a key of the life before counts as lost, though that life had sent keys away.
    LostAfterMoves,
    /// A site that is asked for a key that is on its way to it answers that it isn't there, and takes it later.
    AskedIsNotRefused,
    /// A site that forgot what became of a key answers that it was burned.
    ForgottenIsBurned,
    /// A site still answers where a key went that has expired, which the other site may have forgotten.
    AnswersAfterExpiry,
}

/// The model.
#[derive(Clone, Debug)]
pub struct Moving {
    /// The mistake.
    pub slip: Slip,
    /// How often each site may crash.
    pub crashes: u8,
    /// How often the key may move.
    pub moves: u8,
}

/// The home of the key, which issued its ticket in its first life.
pub const HOME: usize = 0;

/// Which sites have what, what is on its way, and where the flight is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    sites: [Site; 2],
    /// Everything that was ever sent.
    sent: BTreeSet<Carry>,
    /// The lives of the sites when the client sent its flight; none: not yet.
    flight: Option<[u8; 2]>,
    /// The client's own flight, and the attacker's copy.
    copies: [FlightCopy; 2],
    /// How often the flight was accepted.
    accepted: u8,
    /// Whether it was accepted away from home.
    accepted_away: bool,
    /// The key has expired, by the clock of every site. Its ticket may live on, so flights still arrive.
    expired: bool,
}

/// What a site has; all but the last two is lost with its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Site {
    /// The key, which has moved this often.
    holds: Option<u8>,
    /// It accepted the flight.
    used: bool,
    /// It destroyed the key.
    burned: bool,
    /// Where the key went.
    gone: Option<Carry>,
    /// The greatest number of moves of a key that arrived here.
    arrived: u8,
    /// The site takes this key no more.
    refuses: bool,
    /// Counts the crashes. On disk.
    life: u8,
    /// The last life that sent keys away. On disk.
    last_departure: Option<u8>,
}

/// A key on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Carry {
    to: usize,
    life: u8,
    /// How often it has moved, with this move.
    moves: u8,
}

/// Where a flight is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FlightCopy {
    /// It hasn't arrived.
    Away,
    /// At a site that is not its key's home, and waits for the key.
    WaitsAt(usize),
    /// At a site that asks another one what became of the key.
    Asks {
        at: usize,
        of: usize,
        /// The move that led there; none: it is the home.
        after: Option<Carry>,
    },
    /// The site has answered.
    Done(Verdict),
}

/// What a site answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Verdict {
    Accepted,
    Burned,
    Used,
    Unknown,
    /// The key ended with this life of this site.
    Lost {
        site: usize,
        life: u8,
    },
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The client sends its flight.
    Send,
    /// A copy of the flight arrives at a site.
    Arrive {
        /// Which copy.
        copy: usize,
        /// Where.
        site: usize,
    },
    /// A site gives up waiting for the key of a flight, and asks its home.
    GiveUp(usize),
    /// The site that is asked answers.
    Answer(usize),
    /// It doesn't, in time.
    NoAnswer(usize),
    /// A site sends the key to the other, to the life that it believes to be there.
    Depart {
        /// From where.
        site: usize,
        /// To which life of the other.
        life: u8,
    },
    /// [`Slip::SendsAgain`].
    SendAgain(usize),
    /// A message arrives.
    Deliver(Carry),
    /// A site dies and comes back.
    Crash(usize),
    /// A site forgets what became of the key, and the key.
    Forget(usize),
    /// The key expires.
    Expire,
}

/// Of all copies of a flight, wherever they arrive, at most one is accepted.
pub const AT_MOST_ONCE: &str = "accepted at most once";

/// A client that concludes that its flight was not accepted, and never will be, is right.
pub const BURNED_IS_TRUE: &str = "a burned flight is never accepted";

impl State {
    /// What the client concludes from the answer to its own flight (docs/0rtt-fs.md, section 10): a key that ended before it
    /// sent the flight can't have accepted it.
    fn is_burned(&self) -> bool {
        match (self.copies[0], self.flight) {
            (FlightCopy::Done(Verdict::Burned), _) => true,
            (FlightCopy::Done(Verdict::Lost { site, life }), Some(lives)) => lives[site] > life,
            _ => false,
        }
    }
}

impl Model for Moving {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let home = Site { holds: Some(0), ..Site::default() };
        vec![State {
            sites: [home, Site::default()],
            sent: BTreeSet::new(),
            flight: None,
            copies: [FlightCopy::Away; 2],
            accepted: 0,
            accepted_away: false,
            expired: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.flight.is_none() {
            actions.push(Action::Send);
        }
        for (copy, place) in state.copies.iter().enumerate() {
            match place {
                FlightCopy::Away if state.flight.is_some() => {
                    actions.extend([0, 1].map(|site| Action::Arrive { copy, site }));
                }
                FlightCopy::WaitsAt(_) => actions.push(Action::GiveUp(copy)),
                FlightCopy::Asks { .. } => {
                    actions.extend([Action::Answer(copy), Action::NoAnswer(copy)]);
                }
                FlightCopy::Away | FlightCopy::Done(_) => {}
            }
        }
        for (number, site) in state.sites.iter().enumerate() {
            let other = &state.sites[1 - number];
            if site.holds.is_some_and(|moves| moves < self.moves) {
                let lives = 0..=other.life;
                actions.extend(lives.map(|life| Action::Depart { site: number, life }));
            }
            if self.slip == Slip::SendsAgain
                && site.gone.is_some_and(|carry| carry.life < other.life)
            {
                actions.push(Action::SendAgain(number));
            }
            if site.life < self.crashes {
                actions.push(Action::Crash(number));
            }
            let has_come = state.expired && (site.arrived > 0 || site.refuses);
            if site.used || site.burned || site.gone.is_some() || site.holds.is_some() || has_come {
                actions.push(Action::Forget(number));
            }
        }
        actions.extend(state.sent.iter().map(|carry| Action::Deliver(*carry)));
        if !state.expired {
            actions.push(Action::Expire);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.step(&mut state, action);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(AT_MOST_ONCE, |_, state: &State| state.accepted <= 1),
            Property::always(BURNED_IS_TRUE, |_, state: &State| {
                !state.is_burned() || state.accepted == 0
            }),
            Property::sometimes("a flight is accepted where its key went", |_, state: &State| {
                state.accepted_away
            }),
            Property::sometimes("one is accepted after its key came back", |_, state: &State| {
                state.accepted == 1 && !state.accepted_away && state.sites[HOME].arrived > 0
            }),
            Property::sometimes("one is burned away from home", |_, state: &State| {
                state.sites[HOME].last_departure.is_some() && state.is_burned()
            }),
            Property::sometimes("a key is lost with the site it went to", |_, state: &State| {
                matches!(state.copies[0], FlightCopy::Done(Verdict::Lost { site: 1, .. }))
                    && state.is_burned()
            }),
        ]
    }
}
