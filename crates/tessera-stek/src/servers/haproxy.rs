//! HAProxy: its runtime socket, and the file that it reads at a start.
//!
//! A listener holds three keys: the earlier one, the one that seals, and the next one. Pushing a key drops the earlier one,
//! and the next one begins to seal. `show tls-keys` prints them all, which is the acknowledgement.
//! (HAProxy's management guide, "set ssl tls-key" and "show tls-keys".)

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::unistd::geteuid;
use tessera_proxy::logging::tracing;
use tessera_ring::{InstallRefused, Installation, Installer, RingKeys};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::{CHECK_EVERY, key_file};
use crate::keys::{Fillers, ServerKey, ServerKeys};

/// The keys of the listeners that share one file of an HAProxy.
pub struct HaProxy {
    /// The runtime socket, with `level admin`.
    pub socket: PathBuf,
    /// The file that `tls-ticket-keys` names: also the name of the keys at the socket.
    pub file: PathBuf,
    /// The keys of its domain.
    pub keys: ServerKeys,
    state: Mutex<HaProxyState>,
}

#[derive(Default)]
struct HaProxyState {
    fillers: Fillers,
    /// The ids of the ring's keys that it confirmed last.
    confirmed: Option<Vec<[u8; 16]>>,
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
        Self { socket, file, keys, state: Mutex::default() }
    }

    async fn follow(&self, ring: &RingKeys) -> Result<(), InstallRefused> {
        let mut state = self.state.lock().await;
        let wanted = self.wanted(ring, &mut state.fillers)?;
        // First the file: a restart between the two must not bring older keys back.
        key_file::replace(&self.file, lines(&wanted).as_bytes()).map_err(|error| {
            InstallRefused(format!(
                "the file of ticket keys {} can't be written: {error}; check its directory, which only the sidecar \
                 may write to",
                self.file.display()
            ))
        })?;
        let ids: Vec<_> = ring.in_order().map(|key| key.id).collect();
        let [.., next] = &wanted;
        let is_next = state.confirmed.as_ref().is_some_and(|before| follows(before, &ids));
        let mut held = match is_next {
            // One command less, while the others wait.
            true => self.push(next).await?,
            false => self.held().await?,
        };
        if held != wanted && state.confirmed.as_ref() == Some(&ids) {
            tracing::warn!(
                "HAProxy at {} held other ticket keys than the ring's: it was restarted with another file, or another \
                 program sets keys of {}; they are replaced",
                self.socket.display(),
                self.file.display()
            );
        }
        state.confirmed = None;
        for key in missing(&held, &wanted) {
            held = self.push(key).await?;
        }
        if held != wanted {
            return Err(InstallRefused(format!(
                "HAProxy at {} holds other ticket keys than those pushed: another program sets keys of {}; only the \
                 sidecar may",
                self.socket.display(),
                self.file.display()
            )));
        }
        state.confirmed = Some(ids);
        Ok(())
    }

    /// Returns the keys to hold.
    fn wanted(&self, ring: &RingKeys, fillers: &mut Fillers) -> Result<Three, InstallRefused> {
        let keys = self.keys.derive(ring, fillers)?;
        let earlier = keys.earlier.into_iter().next();
        let missing = usize::from(earlier.is_none()) + usize::from(keys.next.is_none());
        let mut random = self.keys.fill(fillers, missing)?.iter().cloned();
        let mut or_random = |key: Option<ServerKey>| {
            key.or_else(|| random.next())
                .ok_or_else(|| InstallRefused("HAProxy takes three ticket keys".into()))
        };
        Ok([or_random(earlier)?, keys.issuing, or_random(keys.next)?])
    }

    /// Returns the three keys that HAProxy holds, in their order.
    async fn held(&self) -> Result<Vec<ServerKey>, InstallRefused> {
        let file = self.file.display().to_string();
        let answer = self.command(&["show tls-keys ", &file]).await?;
        self.three(&answer)
    }

    /// Pushes a key, and returns those that HAProxy holds then.
    async fn push(&self, key: &ServerKey) -> Result<Vec<ServerKey>, InstallRefused> {
        let encoded = Zeroizing::new(STANDARD.encode(&**key));
        let file = self.file.display().to_string();
        let set = ["set ssl tls-key ", &file, " ", &encoded, ";show tls-keys ", &file];
        let answer = self.command(&set).await?;
        match answer.contains("TLS ticket key updated!") {
            true => self.three(&answer),
            false => Err(InstallRefused(format!(
                "HAProxy at {} refused a ticket key: {}; the socket needs `level admin`",
                self.socket.display(),
                quoted(&answer)
            ))),
        }
    }

    fn three(&self, answer: &str) -> Result<Vec<ServerKey>, InstallRefused> {
        let keys = parse_keys(answer);
        if keys.len() != 3 {
            return Err(InstallRefused(format!(
                "HAProxy at {} doesn't have three ticket keys named {}: a bind line with `tls-ticket-keys {}` is needed, \
                 with the same path (it answers: {})",
                self.socket.display(),
                self.file.display(),
                self.file.display(),
                quoted(answer)
            )));
        }
        Ok(keys)
    }

    async fn command(&self, words: &[&str]) -> Result<Zeroizing<String>, InstallRefused> {
        let answered = timeout(DEADLINE, exchange(&self.socket, words)).await;
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

/// Whether `after` is the ring right after an activation in `before`: the next key seals, and there is a new next one. Ids in
/// the ring's order.
fn follows(before: &[[u8; 16]], after: &[[u8; 16]]) -> bool {
    match (before, after) {
        ([issuing, next, ..], [sealing, new, last, ..]) => {
            sealing == next && last == issuing && !before.contains(new)
        }
        _ => false,
    }
}

/// Returns the beginning of an answer, unless it may hold a key: a word that long is none of a message.
fn quoted(answer: &str) -> String {
    let is_word = |word: &str| word.len() <= 32 && !word.contains(char::is_control);
    let line = answer.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    match line.len() <= 200 && line.split(' ').all(is_word) {
        true => line.trim().to_owned(),
        false => "something else".to_owned(),
    }
}

/// Parses the answer to `show tls-keys`: lines `ID.NUMBER KEY`, after a comment.
fn parse_keys(answer: &str) -> Vec<ServerKey> {
    let lines = answer.lines().filter(|line| !line.starts_with('#'));
    let keys = lines.filter_map(|line| line.split_once(' ')).map(|(_, key)| key.trim());
    keys.filter_map(|key| STANDARD.decode(key).ok().map(Zeroizing::new)).collect()
}

/// Refuses a socket that a user listens at who doesn't own its directory: keys would go to another program.
fn check_owner(socket: &Path, user: u32) -> io::Result<()> {
    let directory =
        socket.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let metadata = fs::metadata(directory)?;
    let is_open = metadata.mode() & 0o002 != 0 && metadata.mode() & 0o1000 == 0;
    if user != 0 && user != geteuid().as_raw() && (user != metadata.uid() || is_open) {
        let what = format!("user {user} listens there, who doesn't own its directory");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(())
}

/// Sends one line, in one write, and reads the answer to the end. HAProxy 2.6 sometimes doesn't read the end of a line that
/// comes in two.
async fn exchange(socket: &Path, words: &[&str]) -> io::Result<Zeroizing<String>> {
    let length: usize = words.iter().map(|word| word.len()).sum();
    // Never grows: a reallocation would leave keys behind.
    let mut line = Zeroizing::new(Vec::with_capacity(length + 1));
    words.iter().for_each(|word| line.extend_from_slice(word.as_bytes()));
    line.push(b'\n');
    let mut stream = UnixStream::connect(socket).await?;
    check_owner(socket, stream.peer_cred()?.uid())?;
    stream.write_all(&line).await?;
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
    fn a_socket_of_another_user_gets_no_key() {
        let own = geteuid().as_raw();
        let socket = Path::new("/proc/self/nothing.sock");
        assert!(check_owner(socket, own).is_ok() && check_owner(socket, 0).is_ok());
        let refused = check_owner(Path::new("/etc/nothing.sock"), 4242).unwrap_err().to_string();
        assert_eq!(refused, "user 4242 listens there, who doesn't own its directory");
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
    fn one_key_is_pushed_unseen_only_right_after_an_activation() {
        let ids = |bytes: &[u8]| bytes.iter().map(|byte| [*byte; 16]).collect::<Vec<_>>();
        let is_next = |before: &[u8], after: &[u8]| follows(&ids(before), &ids(after));
        assert!(is_next(&[2, 3, 1], &[3, 4, 2, 1]) && is_next(&[2, 3], &[3, 4, 2]));
        for (before, after) in [
            // Nothing new, two activations, a revocation, no next key, the first keys.
            (&[2, 3, 1][..], &[2, 3, 1][..]),
            (&[2, 3, 1], &[4, 5, 3, 2]),
            (&[2, 3, 1], &[4, 5]),
            (&[2, 3, 1], &[3, 2]),
            (&[2, 3, 1], &[3, 1, 2]),
            (&[], &[1, 2]),
            (&[1], &[1, 2, 3]),
        ] {
            assert!(!is_next(before, after), "{before:?} {after:?}");
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
        let after_a_push = format!("TLS ticket key updated!\n\n{answer}");
        assert_eq!(parse_keys(&after_a_push), wanted);
        assert_eq!(quoted(&answer), "# id secret");
        assert_eq!(quoted(shown[0].as_str()), "something else", "an answer that has a key");
        assert_eq!(quoted("\nPermission denied\n"), "Permission denied");
        assert!(parse_keys("'show tls-keys' unable to locate referenced filename\n").is_empty());
    }
}
