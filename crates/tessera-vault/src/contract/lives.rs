//! The contract of a vault that is closed, reopened, or killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use tessera::resume::{Absence, Vault};

use super::{accept, handle, put, race};

/// Tests that after a clean shutdown nothing taken or burned comes back, and other secrets come back once.
/// `open` opens the same vault every time, `close` shuts it down.
///
/// # Panics
/// Panics if the contract is broken.
pub fn restart<V: Vault>(open: impl Fn() -> V, close: impl Fn(V)) {
    let vault = open();
    for number in 0..20 {
        assert!(put(&vault, number));
    }
    for number in 0..9 {
        assert_eq!(accept(&vault, number), Ok(()));
    }
    vault.burn(&handle(9));
    close(vault);
    for life in 0..3 {
        let vault = open();
        for number in 0..9 {
            let fate = accept(&vault, number);
            assert!(matches!(fate, Err(Absence::Used | Absence::Unknown)), "{number}: {fate:?}");
        }
        let fate = accept(&vault, 9);
        assert!(matches!(fate, Err(Absence::Burned | Absence::Unknown)), "{fate:?}");
        for number in 10..20 {
            let wins = race(16, |_| accept(&vault, number).is_ok());
            let wins = wins.into_iter().filter(|won| *won).count();
            assert!(wins <= 1, "{wins} takes of one secret won");
            assert!(life == 0 || wins == 0, "a secret was taken again after a restart");
        }
        close(vault);
    }
}

/// Tests that a vault rolled back to an earlier clean shutdown, and notified of it by a second place such as
/// a [`Witness`](crate::Witness), returns nothing that was taken since. `save` copies the data of a closed
/// vault, `roll_back` restores the last copy.
///
/// # Panics
/// Panics if the contract is broken.
pub fn rolled_back<V: Vault>(
    open: impl Fn() -> V,
    close: impl Fn(V),
    save: impl Fn(),
    roll_back: impl Fn(),
) {
    let vault = open();
    for number in 0..4 {
        assert!(put(&vault, number));
    }
    close(vault);
    save();
    let mut vault = open();
    for number in 0..2 {
        assert_eq!(accept(&vault, number), Ok(()), "it was not rolled back yet");
    }
    for _ in 0..2 {
        close(vault);
        roll_back();
        vault = open();
        for number in 0..4 {
            assert!(accept(&vault, number).is_err(), "{number} came back");
        }
        assert!(put(&vault, 10), "it goes on");
        assert_eq!(accept(&vault, 10), Ok(()));
    }
}

const CHILD: &str = "TESSERA_VAULT_CONTRACT_CHILD";

/// Tests that a process killed (SIGKILL) between its take and its answer has taken the secret for good.
/// `this_test` is the full name of the calling test: the test program runs itself again with that name and
/// with `environment`, and there `open` must open the same vault.
///
/// # Panics
/// Panics if the contract is broken, or if the test program can't be run.
pub fn a_kill_between_take_and_answer<V: Vault>(
    this_test: &str,
    open: impl Fn() -> V,
    environment: &[(&str, &str)],
    close: impl Fn(V),
) {
    if std::env::var_os(CHILD).is_some() {
        let vault = open();
        assert_eq!(accept(&vault, 1), Ok(()));
        let mut out = std::io::stdout();
        out.write_all(b"\ntaken\n").and_then(|()| out.flush()).expect("the parent listens");
        loop {
            thread::sleep(Duration::from_secs(1));
        }
    }
    let vault = open();
    assert!(put(&vault, 1) && put(&vault, 2));
    close(vault);

    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .args([this_test, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program runs");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let taken = lines.map_while(Result::ok).any(|line| line == "taken");
    child.kill().and_then(|()| child.wait()).expect("it was running");
    assert!(taken, "the child took the secret");

    for life in 0..2 {
        let vault = open();
        assert!(accept(&vault, 1).is_err(), "taken twice");
        let second = accept(&vault, 2).is_ok();
        assert!(life == 0 || !second, "taken twice");
        assert!(accept(&vault, 2).is_err(), "taken twice");
        close(vault);
    }
}
