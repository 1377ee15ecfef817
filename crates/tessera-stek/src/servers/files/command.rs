//! The command that makes a server read its files.

use std::ffi::OsString;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::{Instant, timeout, timeout_at};

/// A command that makes a server read its files: a program and its arguments. No shell reads them.
///
/// It inherits `PATH` from the environment and nothing else, reads nothing, and must end within ten seconds. After that it
/// is killed, with those of its children that are in its process group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadCommand {
    program: OsString,
    arguments: Vec<OsString>,
}

/// How long it may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// How long to wait for the last output of a command that has failed: a child may hold it open.
const LAST_OUTPUT: Duration = Duration::from_millis(100);

/// How much of the output is kept, in bytes: what came last.
const KEPT: usize = 512;

impl ReloadCommand {
    /// Creates a command from its words; `None` without any.
    #[must_use]
    pub fn new(words: impl IntoIterator<Item = impl Into<OsString>>) -> Option<Self> {
        let mut words = words.into_iter().map(Into::into);
        Some(Self { program: words.next()?, arguments: words.collect() })
    }

    /// Runs it.
    ///
    /// # Errors
    /// If it can't be started, fails, or doesn't end in time; the text has the reason.
    pub(super) async fn run(&self) -> Result<(), String> {
        self.run_within(DEADLINE).await
    }

    async fn run_within(&self, limit: Duration) -> Result<(), String> {
        let shown = self.to_text();
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .process_group(0)
            .kill_on_drop(true)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            format!("the command `{shown}` can't be started: {error}; check its path")
        })?;
        let mut group = Group::of(child.id());
        let mut output = Vec::with_capacity(2 * KEPT);
        let ended = {
            let stderr = child.stderr.take();
            let mut reading = pin!(read_end(stderr, &mut output));
            let mut is_open = true;
            let ended = timeout_at(Instant::now() + limit, async {
                loop {
                    tokio::select! {
                        status = child.wait() => return status,
                        () = &mut reading, if is_open => is_open = false,
                    }
                }
            })
            .await;
            if is_open && !matches!(&ended, Ok(Ok(status)) if status.success()) {
                let _ = timeout(LAST_OUTPUT, reading).await;
            }
            ended
        };
        let what = match ended {
            Ok(Ok(status)) => {
                group.has_ended();
                if status.success() {
                    return Ok(());
                }
                format!("failed ({status})")
            }
            Ok(Err(error)) => format!("can't be waited for: {error}"),
            Err(_) => {
                group.kill();
                // The system ends it at once; the wait only reaps it.
                let _ = timeout(LAST_OUTPUT, child.wait()).await;
                format!("didn't end within {} s, and was killed", limit.as_secs_f32())
            }
        };
        Err(match last_line(&output) {
            Some(line) => format!("the command `{shown}` {what}: {line}"),
            None => format!("the command `{shown}` {what}, and printed no reason"),
        })
    }

    fn to_text(&self) -> String {
        let words = [&self.program].into_iter().chain(&self.arguments);
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

/// The process group of a child that wasn't waited for yet; killed when it is dropped.
struct Group(Option<Pid>);

impl Group {
    fn of(child: Option<u32>) -> Self {
        Self(child.and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw))
    }

    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // It fails only if no process is left in it.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }

    /// Its leader was waited for: the number may be another's soon.
    fn has_ended(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads to the end, and keeps what came last.
async fn read_end(stream: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut stream) = stream else { return };
    let mut part = [0; KEPT];
    while let Ok(count @ 1..) = stream.read(&mut part).await {
        kept.extend_from_slice(part.get(..count).unwrap_or_default());
        kept.drain(..kept.len().saturating_sub(KEPT));
    }
}

/// Returns the last line that isn't empty, without control characters.
fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    async fn run(words: &[&str], limit: Duration) -> Result<(), String> {
        ReloadCommand::new(words).unwrap().run_within(limit).await
    }

    fn shell(script: &str) -> [&str; 3] {
        ["sh", "-c", script]
    }

    const AMPLE: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn a_command_that_fails_is_reported_with_its_last_line() {
        assert_eq!(run(&["true"], AMPLE).await, Ok(()));
        let refusal = run(&shell("echo one >&2; echo two >&2; echo >&2; exit 3"), AMPLE).await;
        let refusal = refusal.unwrap_err();
        assert!(refusal.ends_with("failed (exit status: 3): two"), "{refusal}");
        let refusal = run(&["false"], AMPLE).await.unwrap_err();
        assert_eq!(refusal, "the command `false` failed (exit status: 1), and printed no reason");
        // More than a pipe holds.
        let long = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done >&2; exit 1";
        let refusal = run(&shell(long), AMPLE).await.unwrap_err();
        assert!(refusal.ends_with(": line 19999"), "{refusal}");
        let refusal = run(&["/nonexistent/reload"], AMPLE).await.unwrap_err();
        assert!(refusal.starts_with("the command `/nonexistent/reload` can't be started: "));
        assert_eq!(ReloadCommand::new([""; 0]), None);
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_killed_with_its_children() {
        // Unlike any other in the process table.
        let seconds = format!("100.{}", std::process::id());
        let script = format!("echo still here >&2; sleep {seconds} & sleep {seconds}");
        let start = Instant::now();
        let refusal = run(&shell(&script), Duration::from_millis(300)).await.unwrap_err();
        assert!(
            refusal.ends_with("didn't end within 0.3 s, and was killed: still here"),
            "{refusal}"
        );
        assert!(start.elapsed() < Duration::from_secs(5));
        until_gone(&seconds).await;
        // So is one that no caller waits for any more.
        drop(timeout(Duration::from_millis(300), run(&shell(&script), AMPLE)).await);
        until_gone(&seconds).await;
    }

    #[tokio::test]
    async fn a_child_that_goes_on_does_not_hold_the_command_up() {
        let start = Instant::now();
        // The child holds the output open.
        assert_eq!(run(&shell("sleep 5 & exit 0"), AMPLE).await, Ok(()));
        let refusal = run(&shell("echo why >&2; sleep 5 & exit 1"), AMPLE).await.unwrap_err();
        assert!(refusal.ends_with(": why"), "{refusal}");
        assert!(start.elapsed() < Duration::from_secs(4));
    }

    #[tokio::test]
    async fn a_command_inherits_nothing_but_path() {
        let script = "env | grep -v '^\\(PATH\\|PWD\\|SHLVL\\|_\\)=' >&2; exit 1";
        let refusal = run(&shell(script), AMPLE).await.unwrap_err();
        assert!(refusal.ends_with("printed no reason"), "{refusal}");
    }

    async fn until_gone(argument: &str) {
        let deadline = Instant::now() + AMPLE;
        loop {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            let mut lines =
                processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
            let own = format!("sleep\0{argument}\0");
            if !lines.any(|line| line == own.as_bytes()) {
                return;
            }
            assert!(Instant::now() < deadline, "a child of the command still runs");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
