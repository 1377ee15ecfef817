//! The state of a sidecar, as its admin port serves it, and `tessera stek status` shows it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tessera_kit::hex;
use tessera_proxy::admin::Label;
use tessera_ring::RingStatus;

use crate::metrics::CanaryResult;

/// The ring and this sidecar's servers. Times are in seconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StekState {
    /// The sidecar's clock.
    pub now: u64,
    /// When the store was last read; none: not yet.
    pub read_at: Option<u64>,
    /// The active keys, the issuing one first.
    pub keys: Vec<KeyState>,
    /// The id of the key that seals after the next rotation.
    pub next: Option<String>,
    /// All live members of the ring.
    pub members: Vec<MemberState>,
    /// The live members that don't hold the next key yet.
    pub waiting_for: Vec<String>,
    /// This sidecar's servers.
    pub servers: Vec<ServerState>,
    /// What this sidecar's canaries found last.
    #[serde(default)]
    pub canaries: Vec<CanaryState>,
    /// The last change that was requested at this sidecar.
    pub change: Option<RequestedChange>,
}

/// An active key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyState {
    /// Its id in the ring, in hexadecimal; servers' tickets show names derived from it.
    pub id: String,
    /// Greater than that of every earlier key.
    pub epoch: u64,
    /// When it stops sealing.
    pub issues_until: u64,
    /// When it stops opening.
    pub opens_until: u64,
}

/// A live member of the ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberState {
    /// Its name.
    pub name: String,
    /// The ids of the keys that its server holds, the issuing one first.
    pub keys: Vec<String>,
    /// Since when, by its clock.
    pub since: u64,
    /// Whether it holds the next key.
    pub holds_next: bool,
}

/// A server of this sidecar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerState {
    /// Its name in the ring.
    pub name: String,
    /// Why it isn't in step, and what to do.
    pub problem: Option<String>,
    /// Entries of the store that can't be read: of a newer version, or under another key.
    pub unreadable: usize,
}

/// The last ticket of one server that a canary offered to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanaryState {
    /// The member that issued the ticket.
    pub from: String,
    /// This sidecar's server, which the ticket was offered to.
    pub to: String,
    /// `resumed`, `other-group`, `full` or `failed`.
    pub result: String,
}

pub(crate) fn canary_states(
    results: &BTreeMap<(String, String), CanaryResult>,
) -> Vec<CanaryState> {
    let state = |((from, to), result): (&(String, String), &CanaryResult)| CanaryState {
        from: from.clone(),
        to: to.clone(),
        result: result.name().to_owned(),
    };
    results.iter().map(state).collect()
}

/// A change that was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedChange {
    /// Counts them.
    pub number: u64,
    /// What was requested.
    pub kind: ChangeKind,
    /// `done`, or why not; none while it is in progress.
    pub result: Option<String>,
}

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// The next key begins to seal.
    Rotate,
    /// All keys are replaced.
    Revoke,
}

impl StekState {
    pub(crate) fn of<'n>(
        servers: impl Iterator<Item = (&'n str, RingStatus)>,
        change: Option<RequestedChange>,
        now: Duration,
    ) -> Self {
        let servers: Vec<_> = servers.collect();
        // All read the same store: the newest view is the best.
        let view = servers.iter().map(|(_, status)| status).max_by_key(|status| status.read_at);
        let view = view.cloned().unwrap_or_default();
        let id = |id: &[u8; 16]| hex::encode(id);
        Self {
            now: now.as_secs(),
            read_at: view.read_at.map(|at| at.as_secs()),
            keys: view
                .active
                .iter()
                .map(|key| KeyState {
                    id: id(&key.id),
                    epoch: key.epoch,
                    issues_until: key.issues_until.as_secs(),
                    opens_until: key.opens_until.as_secs(),
                })
                .collect(),
            next: view.distributing.as_ref().map(id),
            members: view
                .members
                .iter()
                .map(|member| MemberState {
                    name: member.name.clone(),
                    keys: member.keys.iter().map(id).collect(),
                    since: member.since.as_secs(),
                    holds_next: member.holds_next,
                })
                .collect(),
            waiting_for: view.waiting_for.iter().map(|name| one_line(name)).collect(),
            servers: servers
                .into_iter()
                .map(|(name, status)| ServerState {
                    name: name.to_owned(),
                    problem: status.problem.map(|problem| one_line(&problem)),
                    unreadable: status.unreadable,
                })
                .collect(),
            canaries: Vec::new(),
            change,
        }
    }

    /// Whether all servers of this sidecar are in step, and all members hold the next key.
    #[must_use]
    pub fn is_well(&self) -> bool {
        let fits = |server: &ServerState| server.problem.is_none();
        let crosses = |it: &CanaryState| it.result == CanaryResult::Resumed.name();
        self.canaries.iter().all(crosses)
            && self.servers.iter().all(fits)
            && self.waiting_for.is_empty()
            && !self.keys.is_empty()
    }

    /// Returns the state as text for people, without control characters: names come from the store.
    #[must_use]
    pub fn text(&self) -> String {
        let text = self.raw_text();
        let escaped = text.chars().map(|it| match it.is_control() && it != '\n' {
            true => it.escape_default().to_string(),
            false => it.to_string(),
        });
        escaped.collect()
    }

    fn raw_text(&self) -> String {
        let mut out = String::new();
        let ago = |then: u64| rough(Duration::from_secs(self.now.saturating_sub(then)));
        let ahead = |then: u64| match then.checked_sub(self.now) {
            Some(left) => format!("for another {}", rough(Duration::from_secs(left))),
            None => "no longer".to_owned(),
        };
        let _ = match self.read_at {
            Some(at) => writeln!(out, "The ring, read {} ago", ago(at)),
            None => writeln!(out, "The ring has not been read yet"),
        };
        for (at, key) in self.keys.iter().enumerate() {
            // The first one replaced the others.
            let seals = if at == 0 { ahead(key.issues_until) } else { "no longer".to_owned() };
            let (id, epoch, opens) = (short(&key.id), key.epoch, ahead(key.opens_until));
            let _ = writeln!(out, "  key {id}  epoch {epoch}, seals {seals}, opens {opens}");
        }
        if let Some(next) = &self.next {
            let _ = writeln!(out, "  key {}  next", short(next));
        }
        out.push_str("\nMembers\n");
        let width = self.members.iter().map(|member| member.name.len()).max().unwrap_or(0);
        for MemberState { name, keys, since, holds_next } in &self.members {
            let seals = keys.first().map_or("seals with no key", |_| "seals with ");
            let key = keys.first().map(|key| short(key)).unwrap_or_default();
            let next = if *holds_next { "holds the next key" } else { "lacks the next key" };
            let _ =
                writeln!(out, "  {name:<width$}  {seals}{key}, {next}, as of {} ago", ago(*since));
        }
        out.push_str("\nServers of this sidecar\n");
        let width = self.servers.iter().map(|server| server.name.len()).max().unwrap_or(0);
        for ServerState { name, problem, unreadable } in &self.servers {
            let unread = self.read_at.is_none().then_some("the ring has not been read yet");
            let problem = problem.as_deref().or(unread).unwrap_or("in step");
            let _ = writeln!(out, "  {name:<width$}  {problem}");
            if *unreadable > 0 {
                let _ = writeln!(
                    out,
                    "  {:<width$}  can't read {unreadable} entries of the store: of a newer version, or under another \
                     `key`",
                    ""
                );
            }
        }
        if !self.canaries.is_empty() {
            out.push_str("\nTickets of\n");
        }
        let width = self.canaries.iter().map(|canary| canary.from.len()).max().unwrap_or(0);
        for CanaryState { from, to, result } in &self.canaries {
            let _ = writeln!(out, "  {from:<width$}  at {to}: {result}");
        }
        out
    }
}

/// Returns a text of another process as one line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Writes a duration in the unit that shows it best.
pub(crate) fn rough(time: Duration) -> String {
    let seconds = time.as_secs();
    let units = [(86_400, "days"), (3600, "hours"), (60, "minutes")];
    let unit = units.into_iter().find(|(length, _)| seconds >= 2 * length);
    unit.map_or_else(
        || format!("{seconds} s"),
        |(length, name)| format!("{} {name}", (seconds + length / 2) / length),
    )
}

/// The first digits of an id: enough to distinguish keys.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use tessera_ring::{ActiveKey, MemberStatus};

    use super::*;

    #[test]
    fn the_state_shows_which_members_are_behind() {
        let at = Duration::from_secs;
        let status = RingStatus {
            read_at: Some(at(1000)),
            active: vec![ActiveKey {
                id: [0xab; 16],
                epoch: 3,
                issues_until: at(4600),
                opens_until: at(8200),
            }],
            distributing: Some([0xcd; 16]),
            waiting_for: vec!["b/nginx.www".into()],
            members: vec![MemberStatus {
                name: "b/nginx.www".into(),
                keys: vec![[0xab; 16]],
                since: at(940),
                holds_next: false,
            }],
            problem: Some("the server is down".into()),
            ..RingStatus::default()
        };
        let state = StekState::of([("a/haproxy.www", status)].into_iter(), None, at(1000));
        assert!(!state.is_well());
        assert_eq!(
            state.text(),
            "The ring, read 0 s ago\n  key abababab  epoch 3, seals for another 60 minutes, opens for another 2 hours\n  key \
             cdcdcdcd  next\n\nMembers\n  b/nginx.www  seals with abababab, lacks the next key, as of 60 s ago\n\nServers of \
             this sidecar\n  a/haproxy.www  the server is down\n"
        );
        let forged = MemberState { name: "a\u{1b}[2J".into(), ..state.members[0].clone() };
        let forged = StekState { members: vec![forged], ..state.clone() };
        assert!(forged.text().contains("a\\u{1b}[2J  seals"), "{}", forged.text());
        assert_eq!(one_line("m\n  in step"), "m   in step");
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<StekState>(&json).unwrap(), state);
    }
}
