//! The files of both SEPPs: certificates, keys and configurations.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use tessera_proxy::demo::{Files, HOME, OperatorIdentity, VISITED};

use super::option::SeppOption;
use crate::error::LabError;

/// Where the names of the home network's functions are.
pub(super) const HOME_DOMAIN: &str = "5gc.mnc070.mcc999.3gppnetwork.org";

/// The addresses of all parts.
pub(super) struct Places {
    /// The visited SEPP, for its functions.
    pub(super) sbi: SocketAddr,
    pub(super) visited_n32c: SocketAddr,
    pub(super) home_n32c: SocketAddr,
    pub(super) home_n32f: SocketAddr,
    /// The home network's functions.
    pub(super) producers: SocketAddr,
}

/// Both SEPPs' files, removed with this value.
pub(super) struct PairFiles {
    files: Files,
    visited: [String; 2],
}

impl PairFiles {
    pub(super) fn write(option: &SeppOption, places: &Places) -> Result<Self, LabError> {
        let files = Files::make().map_err(failed)?;
        for operator in [VISITED, HOME] {
            operator.certify(&files).map_err(failed)?;
        }
        let home = home(&files, option, places)?;
        files.write("home.toml", &home).map_err(failed)?;
        let visited = [1, 2].map(|times| visited(&files, option, places, times));
        files.write("visited.toml", &visited[0]).map_err(failed)?;
        Ok(Self { files, visited })
    }

    /// Returns the configuration of a SEPP.
    pub(super) fn of(&self, operator: OperatorIdentity) -> PathBuf {
        self.files.path(&format!("{}.toml", operator.name))
    }

    /// Returns where all of them are.
    pub(super) fn directory(&self) -> PathBuf {
        self.files.path("")
    }

    /// Returns the socket of a SEPP's metrics.
    pub(super) fn admin(&self, operator: OperatorIdentity) -> PathBuf {
        admin(&self.files, operator)
    }

    /// Writes the visited SEPP's configuration with its peer's address repeated once more, or once less. The meaning is
    /// the same, but a SEPP that reloads it rebuilds its N32-f, because the peer's addresses have changed; the
    /// association and its tickets stay.
    pub(super) fn move_home(&mut self) -> Result<(), LabError> {
        self.visited.reverse();
        let path = self.of(VISITED);
        fs::write(&path, &self.visited[0]).map_err(LabError::system(path.display().to_string()))
    }
}

fn visited(files: &Files, option: &SeppOption, places: &Places, times: usize) -> String {
    let Places { sbi, visited_n32c, home_n32c, home_n32f, .. } = places;
    let nowhere = SocketAddr::new(visited_n32c.ip(), 0);
    let addresses = vec![home_n32c.to_string(); times];
    // Only N32-c would try them one after the other.
    let peer = format!("address = {addresses:?}\nn32f-address = [\"{home_n32f}\"]\n");
    own(files, VISITED, *sbi, *visited_n32c, nowhere) + &of_peer(HOME, option, &peer)
}

fn home(files: &Files, option: &SeppOption, places: &Places) -> Result<String, LabError> {
    let Places { visited_n32c, home_n32c, home_n32f, producers, .. } = places;
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut text = own(files, HOME, nowhere, *home_n32c, *home_n32f);
    let peer = format!("address = [\"{visited_n32c}\"]\ninitiate = false\n");
    text += &of_peer(VISITED, option, &peer);
    text += "[sbi.hosts]\n";
    for function in ["nrf", "ausf", "udm"] {
        let _ = writeln!(text, "\"{function}.{HOME_DOMAIN}\" = \"{producers}\"");
    }
    if let Some(etcd) = option.etcd {
        text += &fleet(files, etcd)?;
    }
    Ok(text)
}

/// Returns the own part of a SEPP's configuration. One thread each, so that the processor time of a request is that of
/// one core.
fn own(
    files: &Files,
    own: OperatorIdentity,
    sbi: SocketAddr,
    n32c: SocketAddr,
    n32f: SocketAddr,
) -> String {
    let admin = admin(files, own);
    format!(
        "[process]\nadmin = \"unix:{}\"\nlog = \"json\"\ndrain = \"1s\"\nthreads = 1\n{}",
        admin.display(),
        own.own(format_args!("{}.pem", own.name), [sbi, n32c, n32f])
    )
}

fn of_peer(peer: OperatorIdentity, option: &SeppOption, more: &str) -> String {
    let name = peer.name;
    format!(
        "{}{}{more}[peer.{name}.reconnection]\n{}\n",
        peer.trust(format_args!("{name}-ca.pem")),
        peer.peer(),
        option.reconnection()
    )
}

/// One-time keys and ticket keys in etcd, under a prefix that no other pair has.
fn fleet(files: &Files, etcd: SocketAddr) -> Result<String, LabError> {
    let [prefix, ring, epoch] = [random()?, random()?, random()?];
    files.write("ring.key", &ring).map_err(failed)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let begins = now.saturating_sub(60);
    files.write("epochs", &format!("{begins} 172800 {epoch}\n")).map_err(failed)?;
    Ok(format!(
        "[tickets.fleet]\nvault = \"etcd\"\nring-key = \"ring.key\"\nepoch-keys = \"epochs\"\n\
         etcd = {{ endpoints = [\"{etcd}\"], prefix = \"/tessera-lab/{prefix}/\", \
         plaintext-on-private-network = true }}\n"
    ))
}

/// 32 random bytes in hexadecimal.
fn random() -> Result<String, LabError> {
    let mut bytes = [0; 32];
    let filled = tessera_aws_lc::provider().random.fill(&mut bytes);
    filled.map_err(|_| LabError::Connection("the random number generator failed".to_owned()))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn admin(files: &Files, operator: OperatorIdentity) -> PathBuf {
    files.path(&format!("{}.admin", operator.name))
}

fn failed(error: impl std::fmt::Display) -> LabError {
    LabError::Connection(format!("the files of the SEPPs: {error}"))
}
