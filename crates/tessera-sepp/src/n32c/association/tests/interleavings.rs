//! All orders in which the messages of two SEPPs can arrive, if both begin, end or forget at the same time.

use std::collections::HashSet;

use super::*;
use crate::n32c::messages::{SecNegotiateReqData, SecNegotiateRspData};

/// Two SEPPs and the messages between them, in no order.
#[derive(Clone)]
struct World {
    machines: [Machine; 2],
    on_the_way: Vec<Message>,
    now: Instant,
    /// What has happened, for the message of a failed test.
    path: Vec<String>,
}

#[derive(Clone, Debug)]
enum Message {
    Request { to: usize, number: Option<u64>, request: SecNegotiateReqData },
    Answer { to: usize, number: Option<u64>, answer: Option<SecNegotiateRspData> },
}

const SITES: [Site; 2] = [HOME, VISITED];

/// What may happen besides the arrival of messages, each once at each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Act {
    Begin(usize),
    End(usize),
    /// kill -9 and a restart: all state is lost.
    Restart(usize),
    /// The answer is lost, with its connection.
    LoseAnswers,
}

impl World {
    fn new() -> Self {
        let now = Instant::now();
        let machines = [HOME.machine(VISITED.peer(), now), VISITED.machine(HOME.peer(), now)];
        Self { machines, on_the_way: Vec::new(), now, path: Vec::new() }
    }

    fn act(&mut self, act: Act) {
        self.path.push(format!("{act:?}"));
        match act {
            Act::Begin(side) => {
                if let Some(order) = self.machines[side].begin(self.now) {
                    let (number, request) = (Some(order.number), order.request);
                    self.on_the_way.push(Message::Request { to: 1 - side, number, request });
                }
            }
            Act::End(side) => {
                if let Some(request) = self.machines[side].end() {
                    self.on_the_way.push(Message::Request { to: 1 - side, number: None, request });
                }
                // The operator requests it again, later.
                self.machines[side].renew(self.now + SECOND);
            }
            Act::Restart(side) => {
                // Its connections end with it.
                self.on_the_way.retain(
                    |message| !matches!(message, Message::Answer { to, .. } if *to == side),
                );
                self.machines[side] = SITES[side].machine(SITES[1 - side].peer(), self.now);
            }
            Act::LoseAnswers => {
                for message in &mut self.on_the_way {
                    if let Message::Answer { answer, .. } = message {
                        *answer = None;
                    }
                }
            }
        }
    }

    fn deliver(&mut self, index: usize) {
        match self.on_the_way.remove(index) {
            Message::Request { to, number, request } => {
                let identity = SITES[1 - to].identity();
                let answer = self.machines[to].asked(self.now, &identity, &request);
                self.path.push(format!("{to} is asked, {}", answer.is_ok()));
                self.on_the_way.push(Message::Answer { to: 1 - to, number, answer: answer.ok() });
            }
            Message::Answer { to, number: Some(number), answer } => {
                let reply = match answer {
                    Some(answer) => SITES[1 - to].ok(&answer),
                    None => Err(TransportError::Cut("lost".to_owned())),
                };
                let outcome = self.machines[to].answered(self.now, number, reply);
                self.path.push(format!("{to} is answered: {outcome:?}"));
            }
            Message::Answer { .. } => {}
        }
    }

    /// Lets time pass: all retries run, and a side without an association refuses N32-f.
    fn settle(&mut self) {
        for _ in 0..10 {
            while !self.on_the_way.is_empty() {
                self.deliver(0);
            }
            for side in [0, 1] {
                let association = self.machines[side].established().cloned();
                if let (Some(association), None) =
                    (association, self.machines[1 - side].established())
                {
                    self.machines[side].lost(self.now, &association);
                }
            }
            self.now += Duration::from_secs(120);
            self.act(Act::Begin(0));
            self.act(Act::Begin(1));
        }
    }

    fn ids(&self) -> [Option<AssociationId>; 2] {
        [0, 1].map(|side| self.machines[side].established().map(|association| association.id))
    }
}

/// Follows every order of these acts and of all messages to its end.
fn explore(world: &World, acts: &[Act], ends: &mut Vec<World>) {
    if acts.is_empty() && world.on_the_way.is_empty() {
        ends.push(world.clone());
    }
    for (index, act) in acts.iter().enumerate() {
        let mut next = world.clone();
        next.act(*act);
        let rest: Vec<_> = [&acts[..index], &acts[index + 1..]].concat();
        explore(&next, &rest, ends);
    }
    for index in 0..world.on_the_way.len() {
        let mut next = world.clone();
        next.deliver(index);
        explore(&next, acts, ends);
    }
}

fn ends_of(acts: &[Act]) -> Vec<World> {
    let mut ends = Vec::new();
    explore(&World::new(), acts, &mut ends);
    ends
}

#[test]
fn both_begin_at_once_and_have_one_association_in_every_order() {
    let ends = ends_of(&[Act::Begin(0), Act::Begin(1)]);
    assert!(ends.len() >= 16, "{}", ends.len());
    let mut all = HashSet::new();
    for world in ends {
        let [home, visited] = world.ids();
        assert!(home.is_some() && home == visited, "{:#?}", world.path);
        assert!(!world.path.iter().any(|step| step.contains("false")), "{:#?}", world.path);
        all.insert(home);
    }
    // Whichever exchange was last.
    assert_eq!(all.len(), 1);
}

#[test]
fn an_end_while_both_begin_leaves_neither_behind() {
    for end in [0, 1] {
        for mut world in ends_of(&[Act::Begin(0), Act::Begin(1), Act::End(end)]) {
            world.settle();
            let ids = world.ids();
            assert!(ids.iter().all(Option::is_some), "{ids:?}: {:#?}", world.path);
        }
    }
}

#[test]
fn both_end_at_once_and_agree_again() {
    let mut world = World::new();
    world.settle();
    let before = world.ids();
    for acts in [&[Act::End(0), Act::End(1)][..], &[Act::End(0)], &[Act::End(1), Act::Begin(0)]] {
        let mut ends = Vec::new();
        explore(&world, acts, &mut ends);
        for mut end in ends {
            end.settle();
            let [home, visited] = end.ids();
            assert!(home.is_some() && home == visited, "{:#?}", end.path);
            // Sessions from before the end don't resume.
            assert_ne!(home, before[0], "{:#?}", end.path);
        }
    }
}

#[test]
fn a_restart_of_either_side_at_any_moment_recovers() {
    for restart in [0, 1] {
        for acts in [
            &[Act::Begin(0), Act::Begin(1), Act::Restart(restart)][..],
            &[Act::Begin(0), Act::Restart(restart), Act::LoseAnswers],
            &[Act::Begin(1), Act::Restart(restart), Act::LoseAnswers],
        ] {
            for mut world in ends_of(acts) {
                world.settle();
                let [home, visited] = world.ids();
                assert!(home.is_some() && home == visited, "{:#?}", world.path);
            }
        }
    }
}

#[test]
fn a_restart_after_the_agreement_comes_to_the_same_association() {
    let mut world = World::new();
    world.settle();
    let before = world.ids();
    for restart in [0, 1] {
        let mut world = world.clone();
        world.act(Act::Restart(restart));
        world.settle();
        assert_eq!(world.ids(), before);
    }
}
