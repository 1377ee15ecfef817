//! The possible next steps, and their effects.

use super::{Action, Application, Client, Flight, Said, Slip, State, Tombstone, Word};

/// Enough for every slip; the state space stays small.
const MAX_CRASHES: u8 = 2;
const MAX_RESENDS: u8 = 3;

impl Flight {
    pub(super) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        let mut may = |possible: bool, action: Action| actions.extend(possible.then_some(action));
        may(!state.sent, Action::Send);
        // A client that has its answer reads no clock any more.
        let waits = state.now < self.ticks && state.knows.is_none();
        may(waits, Action::Tick { asleep: false });
        may(waits && state.sent, Action::Tick { asleep: true });
        may(state.crashes < MAX_CRASHES, Action::Crash);
        may(!state.handed_over, Action::HandOver);
        may(state.tombstone.is_some(), Action::Evict);
        if !state.sent {
            return;
        }
        may(state.key, Action::Accept);
        may(state.key, Action::Refuse);
        may(!state.key, Action::Miss);
        may(true, Action::Unavailable);
        may(true, Action::Foreign);
        may(!state.burn_asked, Action::AskToBurn);
        may(state.burn_asked && state.burn_answer.is_none(), Action::Burn);
        may(state.burn_answer.is_some(), Action::Burnt);
        may(state.pending, Action::Execute);
        let early = self.slip == Slip::DoneBeforeEffect && state.pending;
        may((state.effects() > 0 || early) && !state.stored, Action::Store);
        for word in [Word::Accepted, Word::Burned, Word::Used, Word::Unknown] {
            may(state.knows.is_none() && state.answers[word as usize], Action::Hear(word));
        }
        for passed in state.began..=state.now {
            let hears = state.knows.is_none() && state.lost_answer.is_some();
            may(hears, Action::HearLost { passed });
        }
        let asks = state.knows.is_none_or(|word| word != Word::Done && word != Word::Burned);
        may(asks, Action::Receipt { heard: true });
        may(asks, Action::Receipt { heard: false });
        may(self.sends_again(state), Action::Resend);
        may(state.resend_on_its_way, Action::Resent { heard: true });
        may(state.resend_on_its_way, Action::Resent { heard: false });
        may(state.resend_on_its_way, Action::LoseResent);
    }

    fn sends_again(&self, state: &State) -> bool {
        match self.client {
            Client::Eager => {
                state.knows != Some(Word::Done)
                    && !state.resend_on_its_way
                    && state.resends < MAX_RESENDS
            }
            Client::Careful => {
                let word = state.knows;
                let slips: &[Word] = match self.slip {
                    Slip::ResendsOnUnknown => &[Word::Unknown],
                    Slip::ResendsOnUsed => &[Word::Used, Word::NotDone],
                    _ => &[],
                };
                let named: &[Word] = match self.repeatable {
                    true => &[Word::Used, Word::Unknown],
                    false => &[],
                };
                let told = word.is_some_and(|word| {
                    word == Word::Burned || named.contains(&word) || slips.contains(&word)
                });
                let times = if self.slip == Slip::ResendsTwice { 2 } else { 1 };
                state.resends < times && !state.resend_on_its_way && told
            }
        }
    }

    pub(super) fn step(&self, state: &mut State, action: Action) {
        match action {
            Action::Tick { asleep } => {
                state.now += 1;
                // The other clock runs on, and a client that reads both notices nothing.
                state.stood += u8::from(asleep && self.slip == Slip::StandingClock);
            }
            Action::Send => {
                state.sent = true;
                state.began = state.now;
            }
            Action::Accept => {
                take(state, Tombstone::Used);
                state.pending = true;
                state.answer(Word::Accepted);
            }
            Action::Refuse => {
                take(state, Tombstone::Burned);
                state.answer(Word::Burned);
            }
            Action::Miss => state.say(self.remembered(state)),
            Action::Unavailable if self.slip == Slip::UnavailableIsBurned => {
                state.answer(Word::Burned);
            }
            Action::Unavailable | Action::Foreign => state.answer(Word::Unknown),
            Action::AskToBurn => {
                state.burn_asked = true;
                if self.slip == Slip::ForeignDoesNotWait {
                    state.answer(Word::Burned);
                }
            }
            Action::Burn => state.burn_answer = Some(self.burn(state)),
            Action::Burnt => state.say(state.burn_answer.unwrap_or(Said::Word(Word::Unknown))),
            Action::Execute => {
                state.pending = false;
                let mut effects = state.early_effects;
                self.execute(state, &mut effects);
                state.early_effects = effects;
            }
            Action::Store => state.stored = true,
            Action::Evict => state.tombstone = None,
            Action::Crash => {
                state.crashes += 1;
                state.key = self.slip == Slip::RestartBringsBack;
                state.tombstone = None;
                state.pending = false;
                state.of_an_earlier_life = true;
                state.life_began = state.now;
            }
            Action::HandOver => {
                // Keys and tombstones survive; what was taken and not executed is lost.
                state.handed_over = true;
                state.pending = false;
                if self.slip == Slip::SnapshotIsNewLife {
                    state.of_an_earlier_life = true;
                    state.life_began = state.now;
                }
            }
            Action::Hear(word) => state.learn(word),
            Action::HearLost { passed } => {
                let ended_before = state.lost_answer.unwrap_or_default();
                state.learn(self.judge(state, ended_before, passed));
            }
            Action::Receipt { heard } => {
                let receipt = self.receipt(state);
                if heard {
                    state.learn(receipt);
                }
            }
            Action::Resend => {
                state.resends += 1;
                state.resend_on_its_way = true;
            }
            Action::Resent { heard } => {
                state.resend_on_its_way = false;
                let mut effects = state.resent_effects;
                self.execute(state, &mut effects);
                state.resent_effects = effects;
                if heard {
                    state.learn(Word::Done);
                }
            }
            Action::LoseResent => state.resend_on_its_way = false,
        }
    }

    /// Returns the home site's answer for a key that isn't there.
    fn remembered(&self, state: &State) -> Said {
        Said::Word(match state.tombstone {
            Some(Tombstone::Used) => Word::Used,
            Some(Tombstone::Burned) => Word::Burned,
            None if self.slip == Slip::ForgottenIsBurned => Word::Burned,
            None if state.of_an_earlier_life && self.slip == Slip::RestartIsBurned => Word::Burned,
            // The vault began empty after its last crash, and this key is older. A flight sent since then reached no
            // site with the key; one sent earlier may have been executed. Only the client can distinguish the two.
            None if state.of_an_earlier_life => return Said::Lost(state.now - state.life_began),
            None => Word::Unknown,
        })
    }

    /// Judges a lost key for the client: `burned` if its connection began after the earlier life ended. It compares two
    /// spans, and reads its own clocks for one of them now: the longer one counts.
    fn judge(&self, state: &State, ended_before: u8, passed: u8) -> Word {
        let waited = match self.slip {
            Slip::StaleClock => passed - state.began,
            Slip::StandingClock => state.now - state.began - state.stood,
            _ => state.now - state.began,
        };
        let is_younger = match self.slip {
            Slip::EqualSpanIsBurned => waited <= ended_before,
            _ => waited < ended_before,
        };
        if is_younger { Word::Burned } else { Word::Unknown }
    }

    fn burn(&self, state: &mut State) -> Said {
        if state.key {
            take(state, Tombstone::Burned);
            return Said::Word(Word::Burned);
        }
        self.remembered(state)
    }

    /// A take with the purpose to burn; the application's answer then overrides the vault's.
    fn receipt(&self, state: &mut State) -> Word {
        let found = state.key;
        if found && self.slip != Slip::ReceiptDoesNotTake {
            take(state, Tombstone::Burned);
        }
        match state.tombstone {
            _ if state.stored => Word::Done,
            _ if found => Word::Burned,
            Some(Tombstone::Used) if self.slip == Slip::TakenIsBurned && state.pending => {
                Word::Burned
            }
            Some(Tombstone::Used) => Word::NotDone,
            Some(Tombstone::Burned) => Word::Burned,
            None => Word::Unknown,
        }
    }

    fn execute(&self, state: &mut State, effects: &mut u8) {
        if self.application != Application::Forgetful && state.stored {
            return;
        }
        *effects += 1;
        state.stored |= self.application == Application::Transaction;
    }
}

fn take(state: &mut State, why: Tombstone) {
    state.key = false;
    state.tombstone = Some(why);
}

impl State {
    fn say(&mut self, said: Said) {
        match said {
            Said::Word(word) => self.answer(word),
            Said::Lost(_) if self.knows.is_some() => (),
            Said::Lost(ended_before) => self.lost_answer = self.lost_answer.max(Some(ended_before)),
        }
    }

    fn answer(&mut self, word: Word) {
        self.burned_was_told |= word == Word::Burned;
        if let Some(answer) = self.answers.get_mut(word as usize) {
            *answer = true;
        }
    }

    fn learn(&mut self, word: Word) {
        self.burned_was_told |= word == Word::Burned;
        self.knows = Some(word);
        // The client reads no more clocks, nor later answers: fewer states.
        self.lost_answer = None;
        (self.now, self.began, self.life_began, self.stood) = (0, 0, 0, 0);
        if let Some(Said::Lost(ended_before)) = &mut self.burn_answer {
            *ended_before = 0;
        }
    }
}
