//! One key in a vault of two nodes, and two servers that want it.
//!
//! A node removes the key and tells the other node to do the same; messages may be lost, nodes crash
//! and restart, the other node is promoted when the first is down.

use stateright::{Model, Property};

/// How the vault answers a take, and what survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// Answers when the other node has removed the key as well; no answer from it means no key.
    WaitForAll,
    /// Answers at once and tells the other node later (a slip).
    Asynchronous,
    /// Waits, but not for ever: a node that does not answer is taken for dead (a slip).
    WaitAWhile,
    /// Waits, but a node that restarts has the key again: a relaxed journal, a backup (a slip).
    RestartBringsBack,
    /// Looks whether the key is there, and removes it in a second step (a slip).
    CheckThenRemove,
}

/// Two nodes and two takes.
#[derive(Clone, Debug)]
pub struct Vault {
    /// How it replicates.
    pub replication: Replication,
}

/// What became of one server's take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Take {
    /// Not asked yet.
    Idle,
    /// The key was seen, and is not removed yet ([`Replication::CheckThenRemove`]).
    Seen,
    /// The key was removed here; the other node has not said so yet.
    Waiting,
    /// The server has the key.
    Taken,
    /// No key for this server.
    Refused,
}

/// Nodes are 0 and 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    primary: usize,
    up: [bool; 2],
    holds: [bool; 2],
    /// Node 1 - primary is told to remove the key.
    told: bool,
    takes: [Take; 2],
}

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A server asks the primary.
    Ask(usize),
    /// The second step of [`Replication::CheckThenRemove`].
    Remove(usize),
    /// The other node hears that it must remove the key, does so and says so.
    Deliver,
    /// That message is lost: the take is refused.
    Lose,
    /// The other node removes the key, and its answer is lost: the take is refused.
    LoseAnswer,
    /// A node goes down.
    Crash(usize),
    /// A node comes back.
    Restart(usize),
    /// The other node becomes the primary.
    Promote,
}

impl State {
    fn answer(&mut self, take: Take) {
        for waiting in self.takes.iter_mut().filter(|take| **take == Take::Waiting) {
            *waiting = take;
        }
    }

    fn taken(&self) -> usize {
        self.takes.iter().filter(|take| **take == Take::Taken).count()
    }
}

impl Vault {
    fn remove(&self, state: &mut State, server: usize) {
        state.holds[state.primary] = false;
        state.told = true;
        state.takes[server] = match self.replication {
            Replication::Asynchronous => Take::Taken,
            _ => Take::Waiting,
        };
    }
}

impl Model for Vault {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            primary: 0,
            up: [true; 2],
            holds: [true; 2],
            told: false,
            takes: [Take::Idle; 2],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for server in 0..2 {
            if state.up[state.primary] && state.takes[server] == Take::Idle {
                actions.push(Action::Ask(server));
            }
            if state.up[state.primary] && state.takes[server] == Take::Seen {
                actions.push(Action::Remove(server));
            }
        }
        if state.told {
            actions.push(Action::Lose);
            if state.up[1 - state.primary] {
                actions.extend([Action::Deliver, Action::LoseAnswer]);
            }
        }
        for node in 0..2 {
            actions.push(if state.up[node] { Action::Crash(node) } else { Action::Restart(node) });
        }
        if !state.up[state.primary] && state.up[1 - state.primary] {
            actions.push(Action::Promote);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Ask(server) if !state.holds[state.primary] => {
                state.takes[server] = Take::Refused;
            }
            Action::Ask(server) if self.replication == Replication::CheckThenRemove => {
                state.takes[server] = Take::Seen;
            }
            Action::Ask(server) | Action::Remove(server) => self.remove(&mut state, server),
            Action::Deliver => {
                state.told = false;
                state.holds[1 - state.primary] = false;
                state.answer(Take::Taken);
            }
            Action::Lose => {
                state.told = false;
                state.answer(match self.replication {
                    Replication::WaitAWhile => Take::Taken,
                    _ => Take::Refused,
                });
            }
            Action::LoseAnswer => {
                state.told = false;
                state.holds[1 - state.primary] = false;
                state.answer(Take::Refused);
            }
            Action::Crash(node) => {
                state.up[node] = false;
                // Memory is gone; it is never filled again from the other node.
                state.holds[node] &= self.replication == Replication::RestartBringsBack;
                if node == state.primary {
                    // Who waited for an answer gets none, and refuses.
                    state.told = false;
                    state.answer(Take::Refused);
                }
            }
            Action::Restart(node) => {
                state.up[node] = true;
                state.holds[node] = self.replication == Replication::RestartBringsBack;
            }
            Action::Promote => {
                state.primary = 1 - state.primary;
                state.told = false;
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(AT_MOST_ONCE, |_, state: &State| state.taken() <= 1),
            Property::always(GONE, |_, state: &State| {
                state.taken() == 0 || state.holds == [false; 2]
            }),
            Property::sometimes("a key is taken", |_, state: &State| state.taken() == 1),
            Property::sometimes("the promoted node gives the key", |_, state: &State| {
                state.primary == 1 && state.taken() == 1
            }),
            Property::sometimes("a take is refused", |_, state: &State| {
                state.takes.contains(&Take::Refused)
            }),
        ]
    }
}

/// Of all takes of a key at most one ever has it.
pub const AT_MOST_ONCE: &str = "taken at most once";

/// After a take the key can't be had from any node.
pub const GONE: &str = "a key that was taken is gone";

#[cfg(test)]
mod tests {
    use stateright::Checker;

    use super::*;

    fn broken(replication: Replication) -> Vec<&'static str> {
        let checker = Vault { replication }.checker().spawn_bfs().join();
        let found = checker.discoveries();
        let broken = |name: &&str| found.contains_key(*name);
        [AT_MOST_ONCE, GONE].into_iter().filter(broken).collect()
    }

    #[test]
    fn waiting_for_all_is_safe() {
        Vault { replication: Replication::WaitForAll }
            .checker()
            .spawn_bfs()
            .join()
            .assert_properties();
    }

    #[test]
    fn slips_are_found() {
        let both = [AT_MOST_ONCE, GONE];
        for slip in
            [Replication::Asynchronous, Replication::WaitAWhile, Replication::RestartBringsBack]
        {
            assert_eq!(broken(slip), both, "{slip:?}");
        }
        assert_eq!(broken(Replication::CheckThenRemove), [AT_MOST_ONCE]);
    }
}
