//! HAProxy: its runtime socket, and the file that it reads at a start.
//!
//! A listener holds three keys: the earlier one, the one that seals, and the next one. Pushing a key drops the earlier one,
//! and the next one begins to seal. `show tls-keys` prints them all, which is the acknowledgement.
//! (HAProxy's management guide, "set ssl tls-key" and "show tls-keys".)

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tessera_ring::{InstallRefused, Installation, Installer, RingKeys};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::{CHECK_EVERY, key_file};
use crate::keys::{ServerKey, ServerKeys};

/// The keys of the listeners that share one file of an HAProxy.
pub struct HaProxy {
    /// The runtime socket, with `level admin`.
    pub socket: PathBuf,
    /// The file that `tls-ticket-keys` names: also the name of the keys at the socket.
    pub file: PathBuf,
    /// The keys of its domain.
    pub keys: ServerKeys,
    /// Keys that exist nowhere else, in places for which the ring has none.
    fillers: Mutex<Vec<ServerKey>>,
}

/// How long one command may take.
const DEADLINE: Duration = Duration::from_secs(2);

/// The longest answer: that to `show tls-keys`, for one file.
const MOST: u64 = 4096;

/// The keys of a listener: the earlier one, the one that seals, the next one.
type Three = [ServerKey; 3];

impl HaProxy {
    /// Creates the installer.
    #[must_use]
    pub fn new(socket: PathBuf, file: PathBuf, keys: ServerKeys) -> Self {
        Self { socket, file, keys, fillers: Mutex::default() }
    }

    async fn follow(&self, ring: &RingKeys) -> Result<(), InstallRefused> {
        let wanted = self.wanted(ring).await?;
        // First the file: a restart between the two must not bring older keys back.
        key_file::replace(&self.file, lines(&wanted).as_bytes()).map_err(|error| {
            InstallRefused(format!(
                "the file of ticket keys {} can't be written: {error}; check its directory, which only the sidecar \
                 may write to",
                self.file.display()
            ))
        })?;
        let held = self.held().await?;
        for key in missing(&held, &wanted) {
            self.push(key).await?;
        }
        match self.held().await? == wanted {
            true => Ok(()),
            false => Err(InstallRefused(format!(
                "HAProxy at {} holds other ticket keys than those pushed: another program sets keys of {}; only the \
                 sidecar may",
                self.socket.display(),
                self.file.display()
            ))),
        }
    }

    /// Returns the keys to hold. Fillers stay the same while they are needed: an unchanged ring changes nothing.
    async fn wanted(&self, ring: &RingKeys) -> Result<Three, InstallRefused> {
        let random = || {
            self.keys.random().map_err(|_| InstallRefused("the system has no random bytes".into()))
        };
        let mut fillers = self.fillers.lock().await;
        while fillers.len() < 3 {
            fillers.push(random()?);
        }
        let keys = self.keys.derive(ring);
        let keys = keys.map_err(|_| InstallRefused("the system has no random bytes".into()))?;
        if ring.issuing.is_some() && !keys.earlier.is_empty() && keys.next.is_some() {
            // Destroyed as soon as none is needed.
            fillers.clear();
        }
        let filler = |place: usize| fillers.get(place).cloned().unwrap_or_default();
        let issuing = if ring.issuing.is_some() { keys.issuing } else { filler(1) };
        Ok([
            keys.earlier.into_iter().next().unwrap_or_else(|| filler(0)),
            issuing,
            keys.next.unwrap_or_else(|| filler(2)),
        ])
    }

    /// Returns the three keys that HAProxy holds, in their order.
    async fn held(&self) -> Result<Vec<ServerKey>, InstallRefused> {
        let answer = self.command(&format!("show tls-keys {}", self.file.display())).await?;
        let keys = parse_keys(&answer);
        if keys.len() != 3 {
            // The answer may hold keys: it is shown only if it isn't one.
            let said = answer.lines().find(|line| !line.starts_with('#') && !line.contains('.'));
            return Err(InstallRefused(format!(
                "HAProxy at {} has no three ticket keys of {}: a bind line with `tls-ticket-keys {}` is needed, with the \
                 same path{}",
                self.socket.display(),
                self.file.display(),
                self.file.display(),
                said.filter(|said| !said.is_empty())
                    .map_or(String::new(), |said| format!(" (it answers: {said})"))
            )));
        }
        Ok(keys)
    }

    async fn push(&self, key: &ServerKey) -> Result<(), InstallRefused> {
        let encoded = Zeroizing::new(STANDARD.encode(&**key));
        let mut line = Zeroizing::new(String::with_capacity(256 + encoded.len()));
        line.push_str("set ssl tls-key ");
        line.push_str(&self.file.display().to_string());
        line.push(' ');
        line.push_str(&encoded);
        let answer = self.command(&line).await?;
        match answer.contains("TLS ticket key updated!") {
            true => Ok(()),
            false => Err(InstallRefused(format!(
                "HAProxy at {} refused a ticket key: {}; the socket needs `level admin`",
                self.socket.display(),
                answer.trim()
            ))),
        }
    }

    async fn command(&self, line: &str) -> Result<Zeroizing<String>, InstallRefused> {
        let answered = timeout(DEADLINE, exchange(&self.socket, line)).await;
        let answered = answered.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        answered.map_err(|error| {
            InstallRefused(format!(
                "HAProxy can't be reached at {}: {error}; check that it runs, with `stats socket {} level admin`",
                self.socket.display(),
                self.socket.display()
            ))
        })
    }
}

impl Installer for HaProxy {
    fn install<'a>(&'a self, keys: &'a RingKeys) -> Installation<'a> {
        Box::pin(self.follow(keys))
    }

    fn check_every(&self) -> Option<Duration> {
        Some(CHECK_EVERY)
    }
}

/// Writes the keys as HAProxy's file has them: one a line, in base64; the last but one seals.
fn lines(keys: &Three) -> Zeroizing<String> {
    let mut lines = Zeroizing::new(String::with_capacity(3 * 128));
    for key in keys {
        let encoded = Zeroizing::new(STANDARD.encode(&**key));
        lines.push_str(&encoded);
        lines.push('\n');
    }
    lines
}

/// Returns the keys to push, one after the other, so that `held` becomes `wanted`. As few as possible: each push changes
/// which key seals.
fn missing<'w>(held: &[ServerKey], wanted: &'w Three) -> &'w [ServerKey] {
    let common = (0..=3).rev().find(|common| held.get(3 - common..) == wanted.get(..*common));
    wanted.get(common.unwrap_or(0)..).unwrap_or_default()
}

/// Parses the answer to `show tls-keys`: lines `ID.NUMBER KEY`, after a comment.
fn parse_keys(answer: &str) -> Vec<ServerKey> {
    let lines = answer.lines().filter(|line| !line.starts_with('#'));
    let keys = lines.filter_map(|line| line.split_once(' ')).map(|(_, key)| key.trim());
    keys.filter_map(|key| STANDARD.decode(key).ok().map(Zeroizing::new)).collect()
}

/// Sends one line, and reads the answer to the end.
async fn exchange(socket: &Path, line: &str) -> io::Result<Zeroizing<String>> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(line.as_bytes()).await?;
    stream.write_all(b"\n").await?;
    // Never grows: a reallocation would leave keys behind.
    let mut answer = Zeroizing::new(Vec::with_capacity(MOST as usize + 1));
    stream.take(MOST).read_to_end(&mut answer).await?;
    let text = std::str::from_utf8(&answer).map_err(io::Error::other)?;
    Ok(Zeroizing::new(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys<const N: usize>(bytes: [u8; N]) -> [ServerKey; N] {
        bytes.map(|byte| Zeroizing::new(vec![byte; 80]))
    }

    #[test]
    fn the_fewest_keys_are_pushed() {
        let wanted = keys([1, 2, 3]);
        for (held, pushed) in [
            ([1, 2, 3], &[][..]),
            ([0, 1, 2], &[3]),
            ([9, 0, 1], &[2, 3]),
            ([3, 2, 1], &[2, 3]),
            ([7, 8, 9], &[1, 2, 3]),
            // The same keys in another order.
            ([1, 3, 2], &[1, 2, 3]),
        ] {
            let pushed: Vec<_> =
                pushed.iter().map(|byte| Zeroizing::new(vec![*byte; 80])).collect();
            assert_eq!(missing(&keys(held), &wanted), pushed, "{held:?}");
        }
    }

    #[test]
    fn the_keys_that_haproxy_prints_are_those_of_the_file() {
        let wanted = keys([1, 2, 3]);
        let lines = lines(&wanted);
        let shown: Vec<_> =
            lines.lines().enumerate().map(|(at, key)| format!("0.{at} {key}")).collect();
        let answer = format!("# id secret\n{}\n\n", shown.join("\n"));
        assert_eq!(parse_keys(&answer), wanted);
        assert!(parse_keys("'show tls-keys' unable to locate referenced filename\n").is_empty());
    }
}
