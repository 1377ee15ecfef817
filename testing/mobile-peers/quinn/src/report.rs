//! Lines of JSON on standard output.

use std::error::Error;
use std::io::Write;

use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// Prints an event with the time, and these members.
pub fn event(name: &str, mut members: Value) {
    members["event"] = name.into();
    members["at"] = now().into();
    line(&members);
}

pub fn failed(error: &dyn Error) {
    let mut why = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        why = format!("{why}: {error}");
        source = error.source();
    }
    event("failed", json!({ "why": why }));
}

/// Prints an object.
pub fn line(object: &Value) {
    // A reader that has gone needs no line.
    let _ = writeln!(std::io::stdout(), "{object}");
}

/// Nanoseconds of CLOCK_MONOTONIC, which all processes share.
fn now() -> i64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

pub fn cpu_us() -> i64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| {
        let (user, system) = (usage.user_time(), usage.system_time());
        (user.tv_sec() + system.tv_sec()) * 1_000_000 + user.tv_usec() + system.tv_usec()
    })
}
