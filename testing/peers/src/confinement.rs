//! The user of a peer, the network it reaches, and its end with the tests.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};

use nix::unistd::{User, geteuid};

/// The network that a peer reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The same as the test itself, above all the loopback interface.
    Loopback,
    /// Nothing.
    None,
}

/// Returns the user of peers, if it is not the one of the tests.
pub(crate) fn user() -> Option<&'static User> {
    static USER: LazyLock<Option<User>> = LazyLock::new(|| {
        geteuid().is_root().then(|| {
            let nobody = User::from_name("nobody").expect("users can be looked up");
            nobody.expect("tests that run as root need the user `nobody`")
        })
    });
    USER.as_ref()
}

/// Returns the command that becomes `program`, confined. util-linux, part of every Debian, does what would need unsafe
/// code between fork and exec.
pub(crate) fn confined(program: &Path, network: Network) -> Command {
    let mut words: Vec<OsString> = Vec::new();
    if network == Network::None && *NAMESPACES {
        words.extend(unshare().into_iter().map(Into::into));
    }
    words.extend(["setpriv", "--no-new-privs", "--pdeathsig=KILL"].map(Into::into));
    if let Some(user) = user() {
        words.push(format!("--reuid={}", user.uid).into());
        words.push(format!("--regid={}", user.gid).into());
        words.push("--clear-groups".into());
    }
    words.extend(["--".into(), program.into()]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Root may make a network namespace; other users may in a user namespace.
fn unshare() -> Vec<String> {
    let options: &[&str] = match user() {
        Some(_) => &["unshare", "--net", "--"],
        None => &["unshare", "--user", "--map-current-user", "--net", "--"],
    };
    options.iter().copied().map(Into::into).collect()
}

static NAMESPACES: LazyLock<bool> = LazyLock::new(|| {
    let words = unshare();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("true").stderr(Stdio::null());
    let allowed = command.status().is_ok_and(|status| status.success());
    if !allowed {
        eprintln!("peers: the kernel makes no network namespace here; peers see the network");
    }
    allowed
});

type Order = (Command, Sender<io::Result<Child>>);

/// Starts a child from a thread that ends with the process: `--pdeathsig` concerns the thread that started it, and
/// threads of tests end sooner than what they share.
///
/// # Errors
/// Like [`Command::spawn`].
pub fn spawn(command: Command) -> io::Result<Child> {
    static PARENT: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
        let (orders, taken) = channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, reply) in taken {
                // The test may have failed meanwhile.
                let _ = reply.send(command.spawn());
            }
        });
        Mutex::new(orders)
    });
    let (reply, child) = channel();
    let orders = PARENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
    orders.send((command, reply)).expect("the thread never ends");
    child.recv().expect("the thread never ends")
}
