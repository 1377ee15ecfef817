//! SIGHUP to a whole process.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tessera_kit::{ProgramError, files};
use tessera_proxy::confine::Confinement;
use tessera_proxy::logging::LogFormat;
use tessera_proxy::process::{self, ProcessOptions, RunningProduct};

use crate::child;

#[test]
fn each_reload_has_its_time_for_files_and_one_that_fails_stops_no_later_one() {
    let mut child = child::command("reload::child_reloads", &[]);
    let mut child = child.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let id = child.id().to_string();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    };
    let mut says = |text: &str| assert!(lines.any(|line| line.contains(text)), "{text}");
    says("serves");
    for reload in
        ["not reloaded, the earlier configuration stays in use: reload 0", "reload 1", "reload 2"]
    {
        signal("-HUP");
        says(reload);
    }
    signal("-TERM");
    says("ended");
    assert!(child.wait().unwrap().success());
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_reloads() {
    let options = ProcessOptions {
        admin: None,
        log: Some(LogFormat::Text),
        drain: Duration::ZERO,
        threads: None,
        confinement: Confinement::default(),
    };
    process::run(options, async |_| Ok(Product(AtomicU32::new(0)))).unwrap();
}

/// Its first reload fails.
struct Product(AtomicU32);

impl RunningProduct for Product {
    const CONDITION: &'static str = "product";

    fn log_addresses(&self) {
        tracing::info!("serves");
    }

    fn status(&self) -> String {
        String::new()
    }

    fn reload(&self) -> Result<(), ProgramError> {
        let left = files::time_left().expect("a reload has a deadline");
        assert!(left <= files::RELOAD_LIMIT, "{left:?}");
        match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => Err(ProgramError::Failed("reload 0".to_owned())),
            number => {
                tracing::info!("reload {number}");
                Ok(())
            }
        }
    }

    async fn end(&self) -> Result<(), ProgramError> {
        Ok(())
    }
}
