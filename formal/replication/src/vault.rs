//! One key in a vault of two nodes, and two servers that want it.
//!
//! A node removes the key and asks the other node to do the same; messages may be lost, nodes crash and restart, the
//! other node is promoted when the first is down.

use stateright::{Model, Property};

/// How the vault answers a take, and what survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// Answers when the other node has removed the key as well; without its confirmation there is no key.
    WaitForAll,
    /// Answers at once and notifies the other node later (a slip).
    Asynchronous,
    /// Waits for a limited time: a node that does not answer is considered dead (a slip).
    WaitAWhile,
    /// Waits, but a node that restarts has the key again: a relaxed journal, a backup (a slip).
    RestartBringsBack,
    /// Checks for the key, and removes it in a second step (a slip).
    CheckThenRemove,
    /// Promotes the other node while the first lives and continues to serve: each confirms to the other that it has
    /// removed the key (a slip).
    TwoPrimaries,
    /// A put whose answer was lost is sent again, however late (a slip).
    PutsAgain,
}

/// Two nodes and two takes.
#[derive(Clone, Debug)]
pub struct Vault {
    /// How it replicates.
    pub replication: Replication,
}

/// The state of one server's take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Take {
    /// Not requested yet.
    Idle,
    /// A node saw the key, and has not removed it yet ([`Replication::CheckThenRemove`]).
    Seen(usize),
    /// This node removed the key; the other one has not confirmed its removal.
    Waiting(usize),
    /// The server has the key.
    Taken,
    /// No key for this server.
    Refused,
}

/// Nodes are 0 and 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Which nodes consider themselves primary; a primary serves if it is up.
    primary: [bool; 2],
    up: [bool; 2],
    holds: [bool; 2],
    /// Which nodes were asked by the other to remove the key.
    told: [bool; 2],
    takes: [Take; 2],
    /// Whether the key was put a second time.
    put_again: bool,
}

/// The possible steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A server asks a primary.
    Ask {
        /// Which server.
        server: usize,
        /// Which node.
        node: usize,
    },
    /// The second step of [`Replication::CheckThenRemove`].
    Remove(usize),
    /// A node is asked to remove the key, does so and confirms it.
    Deliver(usize),
    /// That message is lost: the take is refused.
    Lose(usize),
    /// A node removes the key as requested, and its confirmation is lost: the take is refused.
    LoseAnswer(usize),
    /// A node goes down.
    Crash(usize),
    /// A node comes back.
    Restart(usize),
    /// A node becomes the primary.
    Promote(usize),
    /// [`Replication::PutsAgain`].
    PutAgain(usize),
}

impl State {
    /// Answers the takes that wait for an answer of a node.
    fn answer(&mut self, node: usize, take: Take) {
        for waiting in self.takes.iter_mut().filter(|take| **take == Take::Waiting(node)) {
            *waiting = take;
        }
    }

    fn serves(&self, node: usize) -> bool {
        self.primary[node] && self.up[node]
    }

    fn taken(&self) -> usize {
        self.takes.iter().filter(|take| **take == Take::Taken).count()
    }
}

impl Vault {
    fn remove(&self, state: &mut State, server: usize, node: usize) {
        state.holds[node] = false;
        state.told[1 - node] = true;
        state.takes[server] = match self.replication {
            Replication::Asynchronous => Take::Taken,
            _ => Take::Waiting(node),
        };
    }
}

impl Model for Vault {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            primary: [true, false],
            up: [true; 2],
            holds: [true; 2],
            told: [false; 2],
            takes: [Take::Idle; 2],
            put_again: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (server, take) in state.takes.iter().enumerate() {
            match *take {
                Take::Idle => {
                    let primaries = (0..2).filter(|node| state.serves(*node));
                    actions.extend(primaries.map(|node| Action::Ask { server, node }));
                }
                Take::Seen(node) if state.serves(node) => actions.push(Action::Remove(server)),
                _ => {}
            }
        }
        for node in 0..2 {
            if state.told[node] {
                actions.push(Action::Lose(node));
                if state.up[node] {
                    actions.extend([Action::Deliver(node), Action::LoseAnswer(node)]);
                }
            }
            actions.push(if state.up[node] { Action::Crash(node) } else { Action::Restart(node) });
            let alone = !state.up[1 - node] || self.replication == Replication::TwoPrimaries;
            if state.up[node] && !state.primary[node] && alone {
                actions.push(Action::Promote(node));
            }
            let again = self.replication == Replication::PutsAgain && !state.put_again;
            if again && state.serves(node) {
                actions.push(Action::PutAgain(node));
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Ask { server, node } if !state.holds[node] => {
                state.takes[server] = Take::Refused;
            }
            Action::Ask { server, node } if self.replication == Replication::CheckThenRemove => {
                state.takes[server] = Take::Seen(node);
            }
            Action::Ask { server, node } => self.remove(&mut state, server, node),
            Action::Remove(server) => {
                let Take::Seen(node) = state.takes[server] else { return None };
                self.remove(&mut state, server, node);
            }
            Action::Deliver(node) => {
                state.told[node] = false;
                state.holds[node] = false;
                state.answer(1 - node, Take::Taken);
            }
            Action::Lose(node) => {
                state.told[node] = false;
                state.answer(
                    1 - node,
                    match self.replication {
                        Replication::WaitAWhile => Take::Taken,
                        _ => Take::Refused,
                    },
                );
            }
            Action::LoseAnswer(node) => {
                state.told[node] = false;
                state.holds[node] = false;
                state.answer(1 - node, Take::Refused);
            }
            Action::Crash(node) => {
                state.up[node] = false;
                // Memory is lost; it is never restored from the other node.
                state.holds[node] &= self.replication == Replication::RestartBringsBack;
                // A take that waited for its answer is refused.
                state.answer(node, Take::Refused);
            }
            Action::Restart(node) => {
                state.up[node] = true;
                state.holds[node] = self.replication == Replication::RestartBringsBack;
            }
            Action::Promote(node) => {
                state.primary[node] = true;
                // A primary that is down is no longer primary when it restarts.
                state.primary[1 - node] &= state.up[1 - node];
            }
            Action::PutAgain(node) => {
                state.put_again = true;
                state.holds[node] = true;
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
                state.primary[1] && state.taken() == 1
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

    /// All states: a model that stopped early would prove nothing.
    #[test]
    fn a_vault_that_waits_for_all_nodes_gives_a_key_once() {
        let checker = Vault { replication: Replication::WaitForAll }.checker().spawn_bfs().join();
        checker.assert_properties();
        assert!(checker.is_done());
        assert!(checker.unique_state_count() > 150);
    }

    #[test]
    fn each_slip_of_the_vaults_model_is_found() {
        let both = [AT_MOST_ONCE, GONE];
        for slip in [
            Replication::Asynchronous,
            Replication::WaitAWhile,
            Replication::RestartBringsBack,
            Replication::PutsAgain,
        ] {
            assert_eq!(broken(slip), both, "{slip:?}");
        }
        for slip in [Replication::CheckThenRemove, Replication::TwoPrimaries] {
            assert_eq!(broken(slip), [AT_MOST_ONCE], "{slip:?}");
        }
    }
}
