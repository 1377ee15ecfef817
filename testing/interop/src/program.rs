//! A child process whose output is watched.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::wait_until;

/// A running program; killed when it is dropped.
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Arc<Mutex<Vec<u8>>>,
}

impl Program {
    /// Starts a program. One that can't be started fails the test: it is never skipped.
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        let started = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.unwrap_or_else(|error| {
            panic!("these tests need the program `{program}`, which can't be started: {error}")
        });
        let output = Arc::new(Mutex::new(Vec::new()));
        watch(child.stdout.take(), &output);
        watch(child.stderr.take(), &output);
        Self { input: child.stdin.take(), child, output }
    }

    /// Everything that it wrote so far, to both of its outputs.
    pub fn output(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&output).into_owned()
    }

    /// Waits until it wrote this text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        self.says_times(text, 1)
    }

    /// Waits until it wrote this text so many times.
    #[track_caller]
    pub fn says_times(&self, text: &str, times: usize) -> &Self {
        let deadline = std::time::Instant::now() + crate::PATIENCE;
        while self.output().matches(text).count() < times {
            assert!(
                std::time::Instant::now() < deadline,
                "the program did not say {text:?} {times} time(s), but:\n{}",
                self.output()
            );
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self
    }

    /// Writes to its input.
    pub fn tell(&mut self, text: &str) -> &mut Self {
        let input = self.input.as_mut().expect("its input is open");
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).expect("it reads its input");
        self
    }

    /// Ends its input.
    pub fn end_input(&mut self) -> &mut Self {
        self.input = None;
        self
    }

    /// Waits for its end; says whether it was content.
    pub fn ends(&mut self) -> bool {
        wait_until("the program ends", || self.child.try_wait().expect("it is a child")).success()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Either fails only for a program that has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Copies a stream until it ends. The thread ends with the child, which is always killed.
fn watch(stream: Option<impl Read + Send + 'static>, output: &Arc<Mutex<Vec<u8>>>) {
    let mut stream = stream.expect("it was asked for");
    let output = output.clone();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            output
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend_from_slice(&bytes[..count]);
        }
    });
}
