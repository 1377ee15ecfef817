//! The program, as its user sees it.

use std::process::Command;

#[test]
fn the_example_shows_both_directions() {
    let output = Command::new(env!("CARGO_BIN_EXE_openssl-peer")).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.starts_with("OpenSSL 3."), "{text}");
    let lines = |wanted: &str| text.lines().filter(|line| line.trim() == wanted).count();
    assert_eq!(lines("early data: \"a request\""), 2, "{text}");
    assert_eq!(lines("with a PSK, early data Accepted"), 2, "{text}");
    assert_eq!(lines("the same flight again: early data: none"), 2, "{text}");
}
