//! One flight of early data, its home site, a foreign site, and the client.
//!
//! The attacker knows the flight, and delivers it to either site at any time. Answers are late or lost. Time advances,
//! and one of the client's clocks may stand still meanwhile. The home site's vault is in memory (its take is atomic;
//! see [`crate::vault`]); a taken flight waits to be executed; a crash loses both, but not what the application has
//! stored.

use stateright::{Model, Property};

mod step;
#[cfg(test)]
mod tests;

/// What the client does with a flight that was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Sends again after `burned`, once; data that its owner named repeatable after `used` and `unknown` as well.
    Careful,
    /// Sends again until it receives `done`.
    Eager,
}

/// How the application stores what it has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// Executes the effect, and then stores that it is done; it does not check for repetitions.
    Forgetful,
    /// Checks for the idempotency key, executes the effect, and then stores the key.
    TwoSteps,
    /// Checks for the key and stores it in the transaction of the effect.
    Transaction,
}

/// A slip that the design must not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip {
    /// None: the design.
    None,
    /// A foreign site reports `burned` and only then asks the home site to burn.
    ForeignDoesNotWait,
    /// A key without tombstone is reported as `burned`.
    ForgottenIsBurned,
    /// A vault that does not answer is treated as one that burned.
    UnavailableIsBurned,
    /// After a restart, earlier keys are reported as `burned`, whenever the flight was sent.
    RestartIsBurned,
    /// The client judges a lost key by a reading of its clocks that may be older than the answer.
    StaleClock,
    /// The client judges a lost key by a clock that may stand still.
    StandingClock,
    /// The client treats equal spans as `burned`.
    EqualSpanIsBurned,
    /// After a restart the key is there again.
    RestartBringsBack,
    /// A receipt reports `burned` without taking the key.
    ReceiptDoesNotTake,
    /// A receipt reports a flight that was taken but not yet executed as `burned`.
    TakenIsBurned,
    /// The client sends again twice.
    ResendsTwice,
    /// The client sends again after `unknown`.
    ResendsOnUnknown,
    /// The client sends again after `used`, or after a receipt for a flight that was taken but not executed.
    ResendsOnUsed,
    /// A vault that inherits the secrets of the previous life still counts as a new life.
    SnapshotIsNewLife,
    /// The application stores that it is done before it executes the effect.
    DoneBeforeEffect,
}

/// The setting that is checked.
#[derive(Clone, Debug)]
pub struct Flight {
    /// The client.
    pub client: Client,
    /// Whether the owner of the data named it repeatable.
    pub repeatable: bool,
    /// The application.
    pub application: Application,
    /// The slip.
    pub slip: Slip,
    /// The last tick. One suffices for every slip about time.
    pub ticks: u8,
}

/// The fate of a flight, as the client learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    /// Accepted early data (in the handshake).
    Accepted,
    /// A verdict, or a receipt.
    Burned,
    /// A verdict.
    Used,
    /// A verdict, or a receipt.
    Unknown,
    /// A receipt.
    NotDone,
    /// A receipt, or the answer to data that was sent again.
    Done,
}

/// A site's answer about a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Said {
    /// This.
    Word(Word),
    /// The key was lost with a life of the vault that ended this many ticks before.
    Lost(u8),
}

/// Why a key is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tombstone {
    /// Taken to accept.
    Used,
    /// Taken to burn.
    Burned,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    // The client: whether it has sent, what it knows, how often it has sent again.
    sent: bool,
    /// When its connection began.
    began: u8,
    /// How long its monotonic clock has stood still since then.
    stood: u8,
    knows: Option<Word>,
    resends: u8,
    /// Data sent again is in transit: TLS delivers it at most once.
    resend_on_its_way: bool,
    /// Answers of sites in transit, by [`Word`] up to `Unknown`.
    answers: [bool; 4],
    /// The longest [`Said::Lost`] in transit: a shorter one adds nothing for the client, and it can receive `unknown`
    /// at any time.
    lost_answer: Option<u8>,
    /// The time, in ticks: no clock orders the events within one.
    now: u8,
    // The home site.
    key: bool,
    tombstone: Option<Tombstone>,
    /// Taken, and not yet executed.
    pending: bool,
    crashes: u8,
    handed_over: bool,
    /// The key was put in an earlier life of the vault, and this one did not inherit it.
    of_an_earlier_life: bool,
    /// When this life of the vault began.
    life_began: u8,
    // Between the sites.
    burn_asked: bool,
    burn_answer: Option<Said>,
    // The application: effects of early data, of data sent again; what it has stored.
    early_effects: u8,
    resent_effects: u8,
    stored: bool,
    /// The client received `burned`.
    burned_was_told: bool,
}

/// The possible steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Time advances.
    Tick {
        /// Whether the client's machine sleeps meanwhile, so that its monotonic clock stands still.
        asleep: bool,
    },
    /// The client sends its flight.
    Send,
    /// The flight reaches the home site, which accepts it.
    Accept,
    /// The flight reaches the home site, which can't accept it and burns the key.
    Refuse,
    /// The flight reaches the home site, which doesn't have the key.
    Miss,
    /// The flight reaches the home site, whose vault does not answer.
    Unavailable,
    /// The flight reaches the foreign site, which answers `unknown`.
    Foreign,
    /// The flight reaches the foreign site, which asks the home site to burn.
    AskToBurn,
    /// The home site burns, and answers.
    Burn,
    /// The foreign site has that answer, and forwards it to the client.
    Burnt,
    /// The application executes a taken flight.
    Execute,
    /// The application stores that it is done.
    Store,
    /// The vault forgets a tombstone.
    Evict,
    /// The home site crashes and restarts.
    Crash,
    /// The home site shuts down properly, and the next life of its vault has its snapshot.
    HandOver,
    /// The client receives an answer.
    Hear(Word),
    /// The client learns that the key was lost, and judges the flight.
    HearLost {
        /// The time that the client's event loop passes, read at some moment since it began.
        passed: u8,
    },
    /// The client asks for a receipt; the answer arrives, or is lost.
    Receipt {
        /// Whether the answer arrives.
        heard: bool,
    },
    /// The client sends its data again.
    Resend,
    /// That data arrives; the answer arrives, or is lost.
    Resent {
        /// Whether the answer arrives.
        heard: bool,
    },
    /// That data is lost.
    LoseResent,
}

/// Data is executed at most once, unless its owner named it repeatable.
pub const AT_MOST_ONCE: &str = "executed at most once";

/// Repeatable data is executed at most once as early data, and at most once when it was sent again.
pub const AT_MOST_ONCE_MORE: &str = "executed at most once more";

/// `burned` is never reported for a flight that was executed or can be.
pub const BURNED_IS_TRUE: &str = "burned is true";

/// `done` is never reported for a flight that was not executed.
pub const DONE_IS_TRUE: &str = "done is true";

impl Model for Flight {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            sent: false,
            knows: None,
            resends: 0,
            resend_on_its_way: false,
            began: 0,
            stood: 0,
            answers: [false; 4],
            lost_answer: None,
            now: 0,
            key: true,
            tombstone: None,
            pending: false,
            crashes: 0,
            handed_over: false,
            of_an_earlier_life: false,
            life_began: 0,
            burn_asked: false,
            burn_answer: None,
            early_effects: 0,
            resent_effects: 0,
            stored: false,
            burned_was_told: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.step(&mut state, action);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(AT_MOST_ONCE, |flight: &Self, state: &State| {
                flight.repeatable || state.effects() <= 1
            }),
            Property::always(AT_MOST_ONCE_MORE, |flight: &Self, state: &State| {
                let is_once_more = state.early_effects <= 1 && state.resent_effects <= 1;
                !flight.repeatable || is_once_more
            }),
            Property::always(BURNED_IS_TRUE, |_, state: &State| {
                let lives = state.key || state.pending || state.early_effects > 0;
                !(state.burned_was_told && lives)
            }),
            Property::always(DONE_IS_TRUE, |_, state: &State| {
                state.knows != Some(Word::Done) || state.effects() > 0
            }),
            Property::sometimes("early data is executed", |_, s: &State| s.early_effects > 0),
            Property::sometimes("data sent again is executed", |_, s: &State| s.resent_effects > 0),
            Property::sometimes("a site is told that its burn was done", |_, s: &State| {
                s.burn_answer == Some(Said::Word(Word::Burned))
            }),
            Property::sometimes("early data is executed after a snapshot", |_, s: &State| {
                s.handed_over && s.early_effects > 0
            }),
            Property::sometimes("a client judges that a lost flight is burned", |_, s: &State| {
                s.tombstone.is_none() && s.crashes > 0 && s.knows == Some(Word::Burned)
            }),
            Property::sometimes("a flight is lost in a crash", |_, s: &State| {
                s.tombstone.is_none() && s.crashes > 0 && s.sent && s.effects() == 0
            }),
        ];
        if self.repeatable && self.application != Application::Transaction {
            properties.push(Property::sometimes("it is executed twice", |_, s: &State| {
                s.early_effects == 1 && s.resent_effects == 1
            }));
        }
        properties.push(knows(Word::Accepted, "a client knows: accepted"));
        properties.push(knows(Word::Burned, "a client knows: burned"));
        properties.push(knows(Word::Used, "a client knows: used"));
        properties.push(knows(Word::Unknown, "a client knows: unknown"));
        properties.push(knows(Word::NotDone, "a client knows: taken, not done"));
        properties.push(knows(Word::Done, "a client knows: done"));
        properties
    }
}

/// Returns the property that the client can receive this word. A property's condition captures nothing.
fn knows(word: Word, name: &'static str) -> Property<Flight> {
    let condition: fn(&Flight, &State) -> bool = match word {
        Word::Accepted => |_, state| state.knows == Some(Word::Accepted),
        Word::Burned => |_, state| state.knows == Some(Word::Burned),
        Word::Used => |_, state| state.knows == Some(Word::Used),
        Word::Unknown => |_, state| state.knows == Some(Word::Unknown),
        Word::NotDone => |_, state| state.knows == Some(Word::NotDone),
        Word::Done => |_, state| state.knows == Some(Word::Done),
    };
    Property::sometimes(name, condition)
}

impl State {
    fn effects(&self) -> u8 {
        self.early_effects + self.resent_effects
    }
}
