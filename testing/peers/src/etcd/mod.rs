//! Members of etcd that a test starts, kills, stops, and cuts off from each other. Their data is in a directory of the
//! [`Cluster`] and is removed with it.

mod link;
mod member;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use link::{Cuts, Link};
use member::Member;
use serde_json::{Value, json};

use crate::{Directory, free_port};

/// A cluster of members that know each other through links that can be cut.
pub struct Cluster {
    // The members end before their data.
    members: Vec<Member>,
    cuts: Arc<Cuts>,
    _data: Directory,
}

/// TLS for the clients of a cluster: paths of PEM files.
pub struct ClientTls {
    /// The certificate of the members.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authority of the clients' certificates.
    pub client_authority: PathBuf,
}

impl Cluster {
    /// Starts `count` members, and waits until they have a leader.
    ///
    /// # Errors
    /// If the members find no leader within 30 seconds.
    pub fn start(count: usize) -> io::Result<Self> {
        Self::start_with(count, None, &std::env::temp_dir())
    }

    /// Starts one member whose data may have this many bytes.
    ///
    /// # Errors
    /// Like [`start`](Self::start).
    pub fn start_with_quota(bytes: u64) -> io::Result<Self> {
        Self::start_all(1, None, &std::env::temp_dir(), Some(bytes))
    }

    /// Starts a cluster whose clients use TLS, or whose data is elsewhere.
    ///
    /// # Errors
    /// Like [`start`](Self::start).
    pub fn start_with(
        count: usize,
        tls: Option<ClientTls>,
        parent: &std::path::Path,
    ) -> io::Result<Self> {
        Self::start_all(count, tls, parent, None)
    }

    fn start_all(
        count: usize,
        tls: Option<ClientTls>,
        parent: &std::path::Path,
        quota: Option<u64>,
    ) -> io::Result<Self> {
        let data = Directory::new_in(parent)?;
        let cuts = Arc::new(Cuts::default());
        let mut peers = Vec::new();
        let mut addresses = Vec::new();
        for index in 0..count {
            // Free now; etcd binds them in a moment.
            let (peer, client) = (free_port()?, free_port()?);
            let link = Link::start(index, peer, cuts.clone())?;
            peers.push(format!("m{index}=http://127.0.0.1:{link}"));
            addresses.push((peer, client, link));
        }
        let tls = tls.map(Arc::new);
        let members = addresses.into_iter().enumerate().map(|(index, ports)| {
            Member::start(data.as_path(), index, ports, &peers.join(","), tls.clone(), quota)
        });
        let members = members.collect::<io::Result<Vec<_>>>()?;
        let cluster = Self { members, cuts, _data: data };
        cluster.wait_for_leader(&(0..count).collect::<Vec<_>>())?;
        cluster.learn_ids()?;
        Ok(cluster)
    }

    /// Returns the addresses for clients, `127.0.0.1:port`, one per member.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(Member::endpoint).collect()
    }

    /// Returns the directory of a member's files.
    pub fn data_dir(&self, member: usize) -> PathBuf {
        self.members[member].data_dir()
    }

    /// Returns the leader, according to the majority of the members that answer.
    ///
    /// # Errors
    /// If none is known within 30 seconds.
    pub fn leader(&self) -> io::Result<usize> {
        let running: Vec<_> =
            (0..self.members.len()).filter(|index| self.members[*index].answers()).collect();
        self.wait_for_leader(&running)
    }

    /// Waits until `members` agree on a leader among them, and returns it.
    ///
    /// # Errors
    /// After 30 seconds.
    pub fn wait_for_leader(&self, members: &[usize]) -> io::Result<usize> {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            let statuses = members.iter().map(|index| self.members[*index].status());
            let statuses: Option<Vec<_>> = statuses.collect();
            let leader = statuses.as_deref().and_then(|statuses| {
                let (_, first) = statuses.first()?;
                let agreed = statuses.iter().all(|(_, leader)| leader == first);
                let at = statuses.iter().position(|(id, _)| id == first)?;
                agreed.then(|| members[at])
            });
            if let Some(leader) = leader {
                return Ok(leader);
            }
            thread::sleep(Duration::from_millis(50));
        }
        let logs: Vec<_> = members.iter().map(|index| self.members[*index].log()).collect();
        let what = format!("the members of etcd found no leader, but wrote:\n{}", logs.join("\n"));
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    }

    /// Kills a member (SIGKILL).
    ///
    /// # Errors
    /// If it was not running.
    pub fn kill(&mut self, member: usize) -> io::Result<()> {
        self.members[member].kill()
    }

    /// Starts a member that was killed, on its old data.
    ///
    /// # Errors
    /// If it runs.
    pub fn restart(&mut self, member: usize) -> io::Result<()> {
        self.members[member].restart()
    }

    /// Stops a member (SIGSTOP): its connections stay open, without answers.
    ///
    /// # Errors
    /// If it is not running.
    pub fn stop(&self, member: usize) -> io::Result<()> {
        self.members[member].stop()
    }

    /// Resumes a stopped member.
    ///
    /// # Errors
    /// If it is not running.
    pub fn go_on(&self, member: usize) -> io::Result<()> {
        self.members[member].go_on()
    }

    /// Cuts a member off from all others; its clients still reach it.
    pub fn cut_off(&self, member: usize) {
        self.cuts.cut(member);
    }

    /// Heals all cuts.
    pub fn heal(&self) {
        self.cuts.heal();
    }

    /// Makes one request to a member's JSON gateway over plain HTTP, for assertions.
    ///
    /// # Errors
    /// If it doesn't answer with JSON within two seconds.
    pub fn ask(&self, member: usize, path: &str, body: &Value) -> io::Result<Value> {
        self.members[member].ask(path, body)
    }

    /// Makes a write that is longer than the quota: from then on its member refuses writes (NOSPACE), and answers reads.
    ///
    /// # Errors
    /// If it takes the write, or doesn't answer.
    pub fn fill(&self, quota: usize) -> io::Result<()> {
        // Base64 of zeros.
        let much = json!({ "key": "L290aGVy", "value": "AAAA".repeat(quota / 3 + 1) });
        let refusal = self.ask(0, "/v3/kv/put", &much)?;
        const RESOURCE_EXHAUSTED: u64 = 8;
        if refusal["code"] == RESOURCE_EXHAUSTED {
            return Ok(());
        }
        Err(io::Error::other(refusal.to_string()))
    }

    /// Lets a member that is full take writes again, as an operator does.
    ///
    /// # Errors
    /// If it doesn't answer.
    pub fn disarm(&self) -> io::Result<()> {
        let alarms = self.ask(0, "/v3/maintenance/alarm", &json!({ "action": "GET" }))?;
        let member = &alarms["alarms"][0]["memberID"];
        let alarm = json!({ "action": "DEACTIVATE", "memberID": member, "alarm": "NOSPACE" });
        self.ask(0, "/v3/maintenance/alarm", &alarm).map(|_| ())
    }

    fn learn_ids(&self) -> io::Result<()> {
        for (index, member) in self.members.iter().enumerate() {
            let (id, _) = member.status().ok_or(io::ErrorKind::NotConnected)?;
            self.cuts.learn(id, index);
        }
        Ok(())
    }
}

/// Returns the empty request.
fn nothing() -> Value {
    json!({})
}
